/* Streams and events. Every call ends before it returns, so that nothing is ever pending; streams are numbers in the
   trace, where the replay lets kernels of different streams run together. Times of events are nominal (launch.c). */
#include "graphs.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
  word ns;
  int recorded;
  void *captured; /* of an event in a captured stream: the capture, and the nodes that it stands behind */
  node **nodes;
  size_t count;
} event;

enum { SYNC_AUTO = 1 }; /* cudaSyncPolicyAuto */

static unsigned streams;
static stream_attributes of_default = {.synchronization = SYNC_AUTO};

unsigned stream_number(stream *on) { return (word)on <= 2 ? 0 : on->number; } /* 0, 1, 2: default streams */

error_t_ cudaStreamCreateWithPriority(stream **out, unsigned flags, int priority) {
  stream *made = out ? malloc(sizeof *made) : NULL;
  if (!made) return note(INVALID_VALUE);
  lock();
  *made = (stream){.number = ++streams, .flags = flags, .attributes = {.synchronization = SYNC_AUTO, .priority = priority}};
  unlock();
  *out = made;
  return OK;
}

error_t_ cudaStreamCreate(stream **out) { return cudaStreamCreateWithPriority(out, 0, 0); }
error_t_ cudaStreamCreateWithFlags(stream **out, unsigned flags) { return cudaStreamCreateWithPriority(out, flags, 0); }

error_t_ cudaStreamDestroy(stream *on) {
  if ((word)on <= 2) return note(INVALID_HANDLE);
  leave_capture(on);
  free(on);
  return OK;
}

error_t_ cudaStreamSynchronize(stream *on) { return is_capturing(on) ? note(900) : settle(); }
error_t_ cudaStreamQuery(stream *on) { return is_capturing(on) ? note(900) : settle(); }

error_t_ cudaStreamWaitEvent(stream *on, event *e, unsigned flags) {
  if (!e) return note(INVALID_HANDLE);
  if (e->captured) return note(capture_wait(on, e->captured, e->nodes, e->count));
  return is_capturing(on) && flags ? note(capture(on, &(work){.kind = N_WAIT, .event = e})) : OK;
}

/* By cudaStreamAttrID. No more than an attribute's own bytes is read or written: the union of values has 32 bytes until
   CUDA 11.7, and 64 later. */
#define ATTRIBUTE(number, part) [number] = {offsetof(stream_attributes, part), sizeof ((stream_attributes *)0)->part}
enum { PRIORITY = 8 };
static const struct { unsigned char at, bytes; } places[] = {
  ATTRIBUTE(1, window), ATTRIBUTE(3, synchronization), ATTRIBUTE(PRIORITY, priority), ATTRIBUTE(9, domains),
  ATTRIBUTE(10, domain), ATTRIBUTE(16, links)};

static stream_attributes *attributes_of(stream *on) { return (word)on <= 2 ? &of_default : &on->attributes; }

static error_t_ exchange(stream *on, int what, void *value, int sets) {
  if (what < 0 || what >= (int)(sizeof places / sizeof *places) || !places[what].bytes || !value) return note(INVALID_VALUE);
  char *own = (char *)attributes_of(on) + places[what].at;
  lock();
  memcpy(sets ? own : value, sets ? value : own, places[what].bytes);
  unlock();
  return OK;
}

error_t_ cudaStreamSetAttribute(stream *on, int what, const void *value) { return exchange(on, what, (void *)value, 1); }
error_t_ cudaStreamGetAttribute(stream *on, int what, void *value) { return exchange(on, what, value, 0); }

error_t_ cudaStreamCopyAttributes(stream *to, stream *from) {
  lock();
  *attributes_of(to) = *attributes_of(from);
  unlock();
  return OK;
}

error_t_ cudaStreamGetFlags(stream *on, unsigned *flags) {
  *flags = (word)on <= 2 ? 0 : on->flags;
  return OK;
}

error_t_ cudaStreamGetPriority(stream *on, int *priority) {
  return exchange(on, PRIORITY, priority, 0);
}

error_t_ cudaStreamGetId(stream *on, unsigned long long *id) {
  *id = stream_number(on);
  return OK;
}

error_t_ cudaStreamGetDevice(stream *on, int *device) {
  *device = 0;
  return OK;
}

error_t_ cudaStreamAddCallback(stream *on, void (*call)(stream *, error_t_, void *), void *data, unsigned flags) {
  call(on, OK, data);
  return OK;
}

error_t_ cudaLaunchHostFunc(stream *on, void (*call)(void *), void *data) {
  if (is_capturing(on)) return note(capture(on, &(work){.kind = N_HOST, .host = {call, data}}));
  call(data);
  return OK;
}

error_t_ cudaEventCreateWithFlags(event **out, unsigned flags) {
  *out = calloc(1, sizeof **out);
  return *out ? OK : note(NO_MEMORY);
}

error_t_ cudaEventCreate(event **out) { return cudaEventCreateWithFlags(out, 0); }

error_t_ cudaEventDestroy(event *e) {
  if (e) free(e->nodes);
  free(e);
  return OK;
}

error_t_ cudaEventRecord(event *e, stream *on) {
  if (!e) return note(INVALID_HANDLE);
  capture_event(on, &e->captured, &e->nodes, &e->count);
  if (e->captured) return OK;
  e->ns = nominal_ns;
  e->recorded = 1;
  return OK;
}

error_t_ record_event(void *e, stream *on) { return cudaEventRecord(e, on); }

error_t_ cudaEventRecordWithFlags(event *e, stream *on, unsigned flags) {
  if (is_capturing(on) && flags) return note(capture(on, &(work){.kind = N_RECORD, .event = e}));
  return cudaEventRecord(e, on);
}
error_t_ cudaEventSynchronize(event *e) { return e ? settle() : note(INVALID_HANDLE); }
error_t_ cudaEventQuery(event *e) { return e ? settle() : note(INVALID_HANDLE); }

error_t_ cudaEventElapsedTime(float *ms, event *from, event *to) {
  if (!ms || !from || !to || !from->recorded || !to->recorded) return note(INVALID_HANDLE);
  *ms = (float)((double)(int64_t)(to->ns - from->ns) / 1e6);
  return OK;
}

error_t_ cudaEventElapsedTime_v2(float *ms, event *from, event *to) { return cudaEventElapsedTime(ms, from, to); }

PER_THREAD(cudaStreamSynchronize);
PER_THREAD(cudaStreamQuery);
PER_THREAD(cudaStreamWaitEvent);
PER_THREAD(cudaStreamSetAttribute);
PER_THREAD(cudaStreamGetAttribute);
PER_THREAD(cudaStreamCopyAttributes);
PER_THREAD(cudaStreamGetFlags);
PER_THREAD(cudaStreamGetPriority);
PER_THREAD(cudaStreamGetId);
PER_THREAD(cudaStreamGetDevice);
PER_THREAD(cudaStreamAddCallback);
PER_THREAD(cudaLaunchHostFunc);
PER_THREAD(cudaEventRecord);
PER_THREAD(cudaEventRecordWithFlags);
