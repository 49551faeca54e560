/* Memory pools: all take from the one device memory, so that a pool is no more than its attributes. */
#include "graphs.h"

#include <stdlib.h>

enum { REUSES = 3, RELEASE_THRESHOLD, RESERVED, RESERVED_HIGH, USED, USED_HIGH }; /* cudaMemPoolAttr; 1 to 3 are ints */

typedef struct { int reuses[REUSES + 1]; word threshold; tally bytes; } pool;

static pool usual = {{0, 1, 1, 1}}, *current = &usual;

static error_t_ give(pool **out, pool *found) {
  if (!out) return note(INVALID_VALUE);
  *out = found;
  return OK;
}

error_t_ cudaDeviceGetDefaultMemPool(pool **out, int device) { return device ? note(INVALID_DEVICE) : give(out, &usual); }
error_t_ cudaDeviceGetMemPool(pool **out, int device) { return device ? note(INVALID_DEVICE) : give(out, current); }
error_t_ cudaMemGetDefaultMemPool(pool **out, const void *location, int kind) { return give(out, &usual); }
error_t_ cudaMemGetMemPool(pool **out, const void *location, int kind) { return give(out, current); }

static error_t_ choose(pool *from) {
  if (!from) return note(INVALID_VALUE);
  current = from;
  return OK;
}

error_t_ cudaDeviceSetMemPool(int device, pool *from) { return device ? note(INVALID_DEVICE) : choose(from); }
error_t_ cudaMemSetMemPool(const void *location, int kind, pool *from) { return choose(from); }

error_t_ cudaMemPoolCreate(pool **out, const void *properties) {
  if (!out || !properties) return note(INVALID_VALUE);
  pool *made = malloc(sizeof *made);
  if (!made) end("no memory");
  *made = (pool){{0, 1, 1, 1}};
  return give(out, made);
}

error_t_ cudaMemPoolDestroy(pool *from) {
  if (!from || from == &usual) return note(INVALID_VALUE);
  if (current == from) current = &usual;
  leave_pool(&from->bytes);
  free(from);
  return OK;
}

error_t_ cudaMemPoolSetAttribute(pool *of, int what, void *value) {
  if (!of || !value || what < 1 || what > USED_HIGH) return note(INVALID_VALUE);
  if (what <= REUSES) of->reuses[what] = *(int *)value;
  else if (what == RELEASE_THRESHOLD) of->threshold = *(word *)value;
  else if (what == RESERVED || what == USED || *(word *)value) return note(INVALID_VALUE);
  else {
    lock();
    of->bytes.most = of->bytes.used;
    unlock();
  }
  return OK;
}

error_t_ cudaMemPoolGetAttribute(pool *of, int what, void *value) {
  if (!of || !value || what < 1 || what > USED_HIGH) return note(INVALID_VALUE);
  lock();
  if (what <= REUSES) *(int *)value = of->reuses[what];
  else *(word *)value = what == RELEASE_THRESHOLD ? of->threshold : what == RESERVED || what == USED ? of->bytes.used : of->bytes.most;
  unlock();
  return OK;
}

/* In a captured stream the memory is the graph's, of no pool. */
error_t_ cudaMallocFromPoolAsync(void **out, size_t bytes, pool *from, stream *on) {
  if (!from) return note(INVALID_VALUE);
  if (!is_capturing(on)) return note(take_from(&from->bytes, bytes, out));
  error_t_ error = take(bytes, 256, OF_GRAPH, out);
  return note(error ? error : capture(on, &(work){.kind = N_TAKE, .memory = *out}));
}

error_t_ cudaMallocAsync(void **out, size_t bytes, stream *on) { return cudaMallocFromPoolAsync(out, bytes, current, on); }
PER_THREAD(cudaMallocAsync);
PER_THREAD(cudaMallocFromPoolAsync);

error_t_ cudaMemPoolTrimTo(pool *of, size_t bytes) { return of ? OK : note(INVALID_VALUE); }
error_t_ cudaMemPoolSetAccess(pool *of, const void *accesses, size_t count) { return of ? OK : note(INVALID_VALUE); }

error_t_ cudaMemPoolGetAccess(int *flags, pool *of, const void *location) {
  if (!flags || !of) return note(INVALID_VALUE);
  *flags = 3; /* read and write */
  return OK;
}
