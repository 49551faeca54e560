/* Streams that are captured: what would run in them becomes nodes of a graph. */
#include "graphs.h"

#include <stdlib.h>
#include <string.h>

enum { CAPTURE_UNSUPPORTED = 900, CAPTURE_MERGE = 902, CAPTURE_UNMATCHED = 903, CAPTURE_IMPLICIT = 906 };

typedef struct capture_ { graph *graph; stream *origin; unsigned long long id; int is_given; struct capture_ *next; } captured;

static captured *open; /* those that have begun and not ended */
static unsigned long long last_id;

static captured *find(unsigned long long id) {
  lock();
  captured *c = open;
  while (c && c->id != id) c = c->next;
  unlock();
  return c;
}

static captured *capture_at(const stream *on) { return (word)on > 2 && on->capture ? find(on->capture) : NULL; }
int is_capturing(const stream *on) { return capture_at(on) != NULL; }

static void set_last(stream *on, node *const *nodes, size_t count) {
  void **made = count ? malloc(count * sizeof *made) : NULL;
  if (count && !made) end("no memory");
  if (count) memcpy(made, nodes, count * sizeof *made);
  free(on->last);
  on->last = made;
  on->last_count = count;
}

/* A stream belongs to no capture from then on. One that began here ends: its graph goes, unless someone has it, and the
   streams that joined it find that it is gone. */
void leave_capture(stream *on) {
  lock();
  captured **at = &open, *own;
  while ((own = *at) && own->origin != on) at = &own->next;
  if (own) *at = own->next;
  unlock();
  if (own && !own->is_given) drop_graph(own->graph);
  free(own);
  set_last(on, NULL, 0);
  on->capture = 0;
}

error_t_ capture(stream *on, const work *work) {
  captured *c = capture_at(on);
  node *made;
  error_t_ error = add_node(c->graph, (node *const *)on->last, on->last_count, work, &made);
  if (!error) set_last(on, &made, 1);
  return error;
}

/* What an event that is recorded in a captured stream keeps: the capture, and the nodes that it stands behind. */
void capture_event(const stream *on, void **kept, node ***nodes, size_t *count) {
  captured *c = capture_at(on);
  free(*nodes);
  *nodes = NULL;
  *kept = c ? (void *)c->id : NULL;
  *count = c ? on->last_count : 0;
  if (*count) {
    *nodes = malloc(*count * sizeof **nodes);
    if (!*nodes) end("no memory");
    memcpy(*nodes, on->last, *count * sizeof **nodes);
  }
}

/* A stream that waits for such an event joins the capture. */
error_t_ capture_wait(stream *on, void *kept, node *const *nodes, size_t count) {
  captured *c = find((unsigned long long)kept), *own = capture_at(on);
  if (!c) return OK;
  if (own && own != c) return CAPTURE_MERGE;
  if ((word)on <= 2) return CAPTURE_IMPLICIT;
  size_t have = own ? on->last_count : 0;
  node **all = malloc((have + count + 1) * sizeof *all);
  if (!all) end("no memory");
  if (have) memcpy(all, on->last, have * sizeof *all);
  for (size_t i = 0; i < count; i++) {
    size_t k = 0;
    while (k < have && all[k] != nodes[i]) k++;
    if (k == have) all[have++] = nodes[i];
  }
  on->capture = c->id;
  set_last(on, all, have);
  free(all);
  return OK;
}

static error_t_ begin(stream *on, graph *into, node *const *needs, size_t count) {
  if ((word)on <= 2) return note(CAPTURE_UNSUPPORTED);
  if (is_capturing(on) || (count && !are_needs(into, needs, count))) return note(INVALID_VALUE);
  captured *made = calloc(1, sizeof *made);
  graph *to = into ? into : calloc(1, sizeof *to);
  if (!made || !to) end("no memory");
  lock();
  *made = (captured){to, on, ++last_id, into != NULL, open};
  open = made;
  unlock();
  on->capture = made->id;
  set_last(on, needs, count);
  return OK;
}

error_t_ cudaStreamBeginCapture(stream *on, int mode) { return begin(on, NULL, NULL, 0); }

error_t_ cudaStreamBeginCaptureToGraph(stream *on, graph *into, node *const *needs, const void *edges, size_t count, int mode) {
  return begin(on, into, needs, count);
}

error_t_ cudaStreamEndCapture(stream *on, graph **out) {
  captured *c = capture_at(on);
  if (!c || c->origin != on) return note(c ? CAPTURE_UNMATCHED : INVALID_VALUE);
  if (out) {
    *out = c->graph;
    c->is_given = 1;
  }
  leave_capture(on);
  return OK;
}

error_t_ cudaStreamIsCapturing(stream *on, int *status) {
  if (!status) return note(INVALID_VALUE);
  *status = is_capturing(on);
  return OK;
}

static error_t_ tell(stream *on, int *status, unsigned long long *id, graph **into, node ***last, size_t *count) {
  captured *c = capture_at(on);
  if (!status) return note(INVALID_VALUE);
  *status = c != NULL;
  if (!c) return OK;
  if (id) *id = c->id;
  if (into) *into = c->graph;
  if (last) *last = (node **)on->last;
  if (count) *count = on->last_count;
  return OK;
}

error_t_ cudaStreamGetCaptureInfo_v2(stream *on, int *status, unsigned long long *id, graph **into, node ***last, size_t *count) {
  return tell(on, status, id, into, last, count);
}

error_t_ cudaStreamGetCaptureInfo_v3(stream *on, int *status, unsigned long long *id, graph **into, node ***last,
                                     const void **edges, size_t *count) {
  if (edges) *edges = NULL;
  return tell(on, status, id, into, last, count);
}

#if CUDART > 12
error_t_ cudaStreamGetCaptureInfo(stream *on, int *status, unsigned long long *id, graph **into, node ***last,
                                  const void **edges, size_t *count) {
  return cudaStreamGetCaptureInfo_v3(on, status, id, into, last, edges, count);
}
#else
error_t_ cudaStreamGetCaptureInfo(stream *on, int *status, unsigned long long *id) {
  return tell(on, status, id, NULL, NULL, NULL);
}
#endif

static error_t_ replace(stream *on, node *const *nodes, size_t count, unsigned flags) {
  captured *c = capture_at(on);
  if (!c || !are_needs(c->graph, nodes, count)) return note(INVALID_VALUE);
  if (flags) set_last(on, nodes, count);
  else return note(capture_wait(on, (void *)c->id, nodes, count));
  return OK;
}

error_t_ cudaStreamUpdateCaptureDependencies_v2(stream *on, node *const *nodes, const void *edges, size_t count, unsigned flags) {
  return replace(on, nodes, count, flags);
}

#if CUDART > 12
ONLY_FORM(cudaStreamUpdateCaptureDependencies);
#else
error_t_ cudaStreamUpdateCaptureDependencies(stream *on, node *const *nodes, size_t count, unsigned flags) {
  return replace(on, nodes, count, flags);
}
#endif

error_t_ cudaThreadExchangeStreamCaptureMode(int *mode) { return OK; }

PER_THREAD(cudaStreamBeginCapture);
PER_THREAD(cudaStreamBeginCaptureToGraph);
PER_THREAD(cudaStreamEndCapture);
PER_THREAD(cudaStreamIsCapturing);
PER_THREAD(cudaStreamGetCaptureInfo);
PER_THREAD(cudaStreamGetCaptureInfo_v2);
PER_THREAD(cudaStreamGetCaptureInfo_v3);
PER_THREAD(cudaStreamUpdateCaptureDependencies);
PER_THREAD(cudaStreamUpdateCaptureDependencies_v2);
