/* The connection: requests and replies, one at a time; errors. */
#define _GNU_SOURCE
#include "shim.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int control = -1;
static word arena_start, arena_bytes;
static pthread_mutex_t mutex;
static __thread error_t_ last;
static error_t_ failed; /* how a kernel ended */
static int seen;        /* whether a call has waited for it: from then on every call fails */
word nominal_ns;

void end(const char *reason) {
  fflush(stdout);
  fprintf(stderr, "rayplay: %s\n", reason);
  _exit(2);
}

__attribute__((constructor(101))) static void connect_(void) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&mutex, &attributes);
  const char *given = getenv("RAYPLAY_CUDA");
  int memory;
  if (!given || sscanf(given, "%d:%d:%lx:%lx", &control, &memory, &arena_start, &arena_bytes) != 4) {
    control = -1; /* a program beside ours, or one outside rayplay run: ask() says so */
    return;
  }
  fcntl(control, F_SETFD, FD_CLOEXEC);
  void *found = mmap((void *)arena_start, arena_bytes, PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_FIXED_NOREPLACE | MAP_NORESERVE, memory, 0);
  if (found != (void *)arena_start)
    end("device memory does not fit this program's addresses: link it as a position-independent executable (-pie)");
  close(memory);
  unsetenv("RAYPLAY_CUDA"); /* programs that this one starts are not ours */
  unsetenv("LD_PRELOAD");
}

void lock(void) { pthread_mutex_lock(&mutex); }
void unlock(void) { pthread_mutex_unlock(&mutex); }

int is_arena(const void *pointer) { return (word)pointer - arena_start < arena_bytes; }

static void move(int writes, void *data, size_t bytes) {
  char *at = data;
  while (bytes) {
    ssize_t done = writes ? write(control, at, bytes) : read(control, at, bytes);
    if (done <= 0 && errno == EINTR && done < 0) continue;
    if (done <= 0) _exit(2); /* the other side has ended, and has said why */
    at += done;
    bytes -= done;
  }
}

error_t_ ask(unsigned what, const void *payload, size_t bytes, void **reply, size_t *length) {
  if (control < 0) end("run this program with: rayplay run PROGRAM");
  uint32_t head[2] = {what, (uint32_t)bytes};
  int32_t answer[2];
  if (bytes > UINT32_MAX) return INVALID_VALUE;
  lock();
  move(1, head, sizeof head);
  move(1, (void *)payload, bytes);
  move(0, answer, sizeof answer);
  char *text = malloc((size_t)answer[1] + 1);
  if (!text) end("no memory");
  move(0, text, answer[1]);
  text[answer[1]] = 0;
  unlock();
  if (length) *length = answer[1];
  if (reply) *reply = text;
  else free(text);
  return answer[0];
}

error_t_ note(error_t_ error) {
  if (seen) error = failed;
  if (error) last = error;
  return error;
}

/* A kernel has ended with an error. As launches do not wait, a later call says so. */
void fail(error_t_ error) { failed = error; }

/* For calls that wait for kernels. */
error_t_ settle(void) {
  if (failed) seen = 1;
  return note(OK);
}

error_t_ lacking(const char *name) {
  static const char *said[64]; /* names are literals: each is said once */
  static unsigned count;
  lock();
  unsigned at = 0;
  while (at < count && said[at] != name) at++;
  if (at == count) {
    fprintf(stderr, "rayplay: %s is not supported: it returns cudaErrorNotSupported\n", name);
    if (count < 64) said[count++] = name;
  }
  unlock();
  return note(NOT_SUPPORTED);
}

error_t_ cudaGetLastError(void) {
  error_t_ found = seen ? failed : last;
  last = OK;
  return found;
}

error_t_ cudaPeekAtLastError(void) { return seen ? failed : last; }

#define ERRORS(E) \
  E(0, Success, "no error") E(1, ErrorInvalidValue, "invalid argument") \
  E(2, ErrorMemoryAllocation, "out of memory") E(3, ErrorInitializationError, "initialization error") \
  E(9, ErrorInvalidConfiguration, "invalid configuration argument") \
  E(12, ErrorInvalidPitchValue, "invalid pitch argument") E(13, ErrorInvalidSymbol, "invalid device symbol") \
  E(17, ErrorInvalidDevicePointer, "invalid device pointer") E(18, ErrorInvalidTexture, "invalid texture reference") \
  E(20, ErrorInvalidChannelDescriptor, "invalid channel descriptor") \
  E(21, ErrorInvalidMemcpyDirection, "invalid copy direction for memcpy") \
  E(35, ErrorInsufficientDriver, "CUDA driver version is insufficient for CUDA runtime version") \
  E(98, ErrorInvalidDeviceFunction, "invalid device function") E(100, ErrorNoDevice, "no CUDA-capable device is detected") \
  E(101, ErrorInvalidDevice, "invalid device ordinal") \
  E(209, ErrorNoKernelImageForDevice, "no kernel image is available for execution on the device") \
  E(218, ErrorInvalidPtx, "a PTX JIT compilation failed") E(400, ErrorInvalidResourceHandle, "invalid resource handle") \
  E(500, ErrorSymbolNotFound, "named symbol not found") E(600, ErrorNotReady, "device not ready") \
  E(700, ErrorIllegalAddress, "an illegal memory access was encountered") \
  E(701, ErrorLaunchOutOfResources, "too many resources requested for launch") \
  E(702, ErrorLaunchTimeout, "the launch timed out and was terminated") \
  E(704, ErrorPeerAccessAlreadyEnabled, "peer access is already enabled") \
  E(705, ErrorPeerAccessNotEnabled, "peer access has not been enabled") \
  E(710, ErrorAssert, "device-side assert triggered") \
  E(712, ErrorHostMemoryAlreadyRegistered, "part or all of the requested memory range is already mapped") \
  E(713, ErrorHostMemoryNotRegistered, "pointer does not correspond to a registered memory region") \
  E(719, ErrorLaunchFailure, "unspecified launch failure") \
  E(720, ErrorCooperativeLaunchTooLarge, "too many blocks in cooperative launch") \
  E(801, ErrorNotSupported, "operation not supported") \
  E(900, ErrorStreamCaptureUnsupported, "operation not permitted when stream is capturing") \
  E(902, ErrorStreamCaptureMerge, "operation would merge two captures") \
  E(903, ErrorStreamCaptureUnmatched, "capture was not ended in the same stream as it began") \
  E(906, ErrorStreamCaptureImplicit, "operation would make the legacy stream depend on a capturing blocking stream") \
  E(910, ErrorGraphExecUpdateFailure, "the graph differs too much from the one that it should update") \
  E(999, ErrorUnknown, "unknown error")

const char *cudaGetErrorName(error_t_ error) {
  switch (error) {
#define E(number, name, text) case number: return "cuda" #name;
    ERRORS(E)
#undef E
  }
  return "unrecognized error code";
}

const char *cudaGetErrorString(error_t_ error) {
  switch (error) {
#define E(number, name, text) case number: return text;
    ERRORS(E)
#undef E
  }
  return "unrecognized error code";
}
