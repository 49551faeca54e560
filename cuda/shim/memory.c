/* Memory: taken and given back, page-locked, managed and registered; plain copies and fills. */
#define _GNU_SOURCE
#include "graphs.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PITCH 512
#define PAGE 4096ul

static range *ranges; /* in no order */
static size_t count, room;
static word in_use; /* bytes of all ranges */

/* What it returns is used by who holds the lock; others ask whether there is one. */
range *range_at(const void *pointer) {
  word at = (word)pointer;
  range *found = NULL;
  lock();
  for (size_t i = 0; i < count && !found; i++) {
    range *r = &ranges[i];
    if (at - r->address < r->bytes || at == r->address || (r->host && at - (word)r->host < r->bytes)) found = r;
  }
  unlock();
  return found;
}

void add_range(word address, word bytes, enum kind kind, tally *pool) {
  lock();
  if (count == room) {
    room = room ? 2 * room : 64;
    ranges = realloc(ranges, room * sizeof *ranges);
    if (!ranges) end("no memory");
  }
  ranges[count++] = (range){address, bytes, kind, NULL, pool};
  in_use += bytes;
  if (pool) pool->used += bytes;
  if (pool && pool->used > pool->most) pool->most = pool->used;
  unlock();
}

static void drop_range(range *r) {
  in_use -= r->bytes;
  if (r->pool) r->pool->used -= r->bytes;
  *r = ranges[--count];
}

/* Memory of a pool that goes stays until it is freed. */
void leave_pool(tally *pool) {
  lock();
  for (size_t i = 0; i < count; i++)
    if (ranges[i].pool == pool) ranges[i].pool = NULL;
  unlock();
}

word graph_memory(void) {
  word sum = 0;
  lock();
  for (size_t i = 0; i < count; i++) sum += ranges[i].kind == OF_GRAPH ? ranges[i].bytes : 0;
  unlock();
  return sum;
}

/* Whether a copy may touch the bytes: memory of the host, or one range of device memory. */
int is_valid(const void *pointer, size_t bytes) {
  if (!pointer) return !bytes;
  if (!is_arena(pointer)) return 1;
  lock();
  range *r = range_at(pointer);
  int fits = r && (word)pointer + bytes <= r->address + r->bytes;
  unlock();
  return fits;
}

static error_t_ take_range(word bytes, word align, enum kind kind, tally *pool, void **out) {
  if (!out) return INVALID_VALUE;
  *out = NULL;
  if (!bytes) return OK;
  word request[2] = {bytes, align}, *reply;
  error_t_ error = ask(ASK_MEMORY, request, sizeof request, (void **)&reply, NULL);
  if (!error) {
    *out = (void *)reply[0];
    add_range(reply[0], bytes, kind, pool);
  }
  free(reply);
  return error;
}

error_t_ take(word bytes, word align, enum kind kind, void **out) { return take_range(bytes, align, kind, NULL, out); }
error_t_ take_from(tally *pool, word bytes, void **out) { return take_range(bytes, 256, DEVICE, pool, out); }

static error_t_ give_back(void *pointer, int of_host) {
  if (!pointer) return OK;
  lock();
  range *r = range_at(pointer);
  error_t_ error = INVALID_VALUE;
  if (r && r->address == (word)pointer && (of_host ? r->kind == PINNED : r->kind <= MANAGED)) {
    word address = r->address;
    drop_range(r);
    error = ask(ASK_FREE, &address, sizeof address, NULL, NULL);
  } else if (r && r->address == (word)pointer && !of_host && r->kind == OF_GRAPH) {
    error = OK; /* the next launch has it again */
  }
  unlock();
  return error;
}

error_t_ cudaMalloc(void **out, size_t bytes) { return note(take(bytes, 256, DEVICE, out)); }
error_t_ cudaMallocManaged(void **out, size_t bytes, unsigned flags) { return note(take(bytes, PAGE, MANAGED, out)); }
error_t_ cudaMallocHost(void **out, size_t bytes) { return note(take(bytes, PAGE, PINNED, out)); }
error_t_ cudaHostAlloc(void **out, size_t bytes, unsigned flags) { return note(take(bytes, PAGE, PINNED, out)); }
error_t_ cudaFree(void *pointer) { return settle() ? note(OK) : note(give_back(pointer, 0)); }
error_t_ cudaFreeAsync(void *pointer, stream *on) {
  return is_capturing(on) ? note(capture(on, &(work){.kind = N_FREE, .memory = pointer})) : cudaFree(pointer);
}
error_t_ cudaFreeHost(void *pointer) { return note(give_back(pointer, 1)); }
PER_THREAD(cudaFreeAsync);

error_t_ cudaMallocPitch(void **out, size_t *pitch, size_t width, size_t height) {
  if (!pitch) return note(INVALID_VALUE);
  *pitch = (width + PITCH - 1) / PITCH * PITCH;
  return cudaMalloc(out, *pitch * height);
}

error_t_ cudaMalloc3D(pitched *out, extent size) {
  if (!out) return note(INVALID_VALUE);
  out->xsize = size.width;
  out->ysize = size.height;
  return cudaMallocPitch(&out->ptr, &out->pitch, size.width, size.height * size.depth);
}

error_t_ cudaMemGetInfo(size_t *free_, size_t *total) {
  word all = card()[C_MEMORY_BYTES];
  lock();
  word used = in_use;
  unlock();
  if (free_) *free_ = used < all ? all - used : 0;
  if (total) *total = all;
  return OK;
}

/* The pages of the memory become pages of device memory, with what they hold: both sides see every change. */
error_t_ cudaHostRegister(void *pointer, size_t bytes, unsigned flags) {
  if (!pointer || !bytes || is_arena(pointer)) return note(INVALID_VALUE);
  word start = (word)pointer & ~(PAGE - 1), size = ((word)pointer + bytes - start + PAGE - 1) & ~(PAGE - 1);
  if ((word)&start >= start && (word)&start - start < size + (1 << 20)) /* frames in use would lose what they write */
    return lacking("cudaHostRegister of memory on the stack");
  lock();
  error_t_ error = range_at(pointer) ? ALREADY_REGISTERED : OK;
  void *pages = NULL;
  if (!error) error = take(size, PAGE, REGISTERED, &pages);
  if (!error) {
    range *r = range_at(pages);
    memcpy(pages, (void *)start, size);
    if (mremap(pages, 0, size, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)start) == MAP_FAILED) error = NOT_SUPPORTED;
    else {
      *r = (range){(word)pages + ((word)pointer - start), bytes, REGISTERED, pointer};
      in_use -= size - bytes;
    }
  }
  unlock();
  return note(error);
}

error_t_ cudaHostUnregister(void *pointer) {
  lock();
  range *r = range_at(pointer);
  error_t_ error = r && r->kind == REGISTERED && r->host == pointer ? OK : NOT_REGISTERED;
  if (!error) {
    word start = (word)pointer & ~(PAGE - 1), size = ((word)pointer + r->bytes - start + PAGE - 1) & ~(PAGE - 1);
    word address = r->address & ~(PAGE - 1);
    drop_range(r);
    if (mmap((void *)start, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
      end("no memory");
    memcpy((void *)start, (void *)address, size);
    error = ask(ASK_FREE, &address, sizeof address, NULL, NULL);
  }
  unlock();
  return note(error);
}

error_t_ cudaHostGetDevicePointer(void **out, void *pointer, unsigned flags) {
  lock();
  range *r = pointer ? range_at(pointer) : NULL;
  error_t_ error = r && r->kind != DEVICE && out ? OK : INVALID_VALUE;
  if (!error) *out = r->host && !is_arena(pointer) ? (void *)(r->address + ((char *)pointer - r->host)) : pointer;
  unlock();
  return note(error);
}

error_t_ cudaHostGetFlags(unsigned *flags, void *pointer) {
  if (!flags || !range_at(pointer)) return note(INVALID_VALUE);
  *flags = 2; /* mapped */
  return OK;
}

typedef struct { int type, device; void *device_pointer, *host_pointer; } pointer_attributes;

error_t_ cudaPointerGetAttributes(pointer_attributes *out, const void *pointer) {
  static const int types[] = {2, 3, 1, 1, 2, 2, 2}; /* by kind: device, managed, host */
  if (!out) return note(INVALID_VALUE);
  lock();
  range *r = pointer ? range_at(pointer) : NULL;
  *out = (pointer_attributes){0, r ? 0 : -2, NULL, (void *)pointer};
  if (r) {
    word device = r->host && !is_arena(pointer) ? r->address + ((char *)pointer - r->host) : (word)pointer;
    out->type = types[r->kind];
    out->device_pointer = (void *)device;
    out->host_pointer = out->type == 2 ? NULL : r->host ? r->host + (device - r->address) : (void *)pointer;
  }
  unlock();
  return OK;
}

error_t_ cudaMemcpy(void *to, const void *from, size_t bytes, int kind) {
  if (kind < 0 || kind > 4) return note(21);
  if (settle()) return note(OK);
  if ((kind == 1 || kind == 3) && bytes && !range_at(to)) return note(INVALID_VALUE);
  if ((kind == 2 || kind == 3) && bytes && !range_at(from)) return note(INVALID_VALUE);
  if (!is_valid(to, bytes) || !is_valid(from, bytes)) return note(INVALID_VALUE);
  memmove(to, from, bytes);
  return OK;
}

error_t_ cudaMemcpyAsync(void *to, const void *from, size_t bytes, int kind, stream *on) {
  work copy = copy_of(to, bytes, from, bytes, bytes, 1);
  if (is_capturing(on)) return note(capture(on, &copy));
  return cudaMemcpy(to, from, bytes, kind);
}

error_t_ cudaMemcpyPeer(void *to, int a, const void *from, int b, size_t bytes) { return cudaMemcpy(to, from, bytes, 3); }
error_t_ cudaMemcpyPeerAsync(void *to, int a, const void *from, int b, size_t bytes, stream *on) {
  return cudaMemcpyAsync(to, from, bytes, 3, on);
}

error_t_ cudaMemset(void *to, int value, size_t bytes) {
  if (settle() || (bytes && (!range_at(to) || !is_valid(to, bytes)))) return note(INVALID_VALUE);
  if (bytes) memset(to, value, bytes);
  return OK;
}

error_t_ cudaMemsetAsync(void *to, int value, size_t bytes, stream *on) {
  work fill = {.kind = N_FILL, .fill = {to, bytes, (unsigned char)value, 1, bytes, 1}};
  return is_capturing(on) ? note(capture(on, &fill)) : cudaMemset(to, value, bytes);
}

error_t_ cudaMemset3D(pitched to, int value, extent size) {
  if (!size.width || !size.height || !size.depth) return OK;
  size_t slice = to.pitch * to.ysize;
  size_t last = slice * (size.depth - 1) + to.pitch * (size.height - 1) + size.width;
  if (size.width > to.pitch || !range_at(to.ptr) || !is_valid(to.ptr, last)) return note(INVALID_VALUE);
  for (size_t z = 0; z < size.depth; z++)
    for (size_t y = 0; y < size.height; y++) memset((char *)to.ptr + z * slice + y * to.pitch, value, size.width);
  return OK;
}

error_t_ cudaMemset3DAsync(pitched to, int value, extent size, stream *on) {
  return is_capturing(on) ? lacking("cudaMemset3DAsync in a captured stream") : cudaMemset3D(to, value, size);
}

error_t_ cudaMemset2D(void *to, size_t pitch, int value, size_t width, size_t height) {
  return cudaMemset3D((pitched){to, pitch, width, height}, value, (extent){width, height, 1});
}

error_t_ cudaMemset2DAsync(void *to, size_t pitch, int value, size_t width, size_t height, stream *on) {
  work fill = {.kind = N_FILL, .fill = {to, pitch, (unsigned char)value, 1, width, height}};
  if (is_capturing(on)) return note(capture(on, &fill));
  return cudaMemset2D(to, pitch, value, width, height);
}

/* All memory is where both sides can reach it: advice and prefetches change nothing. */
error_t_ cudaMemAdvise(void) { return OK; }
error_t_ cudaMemAdvise_v2(void) { return OK; }
error_t_ cudaMemPrefetchAsync(void) { return OK; }
error_t_ cudaMemPrefetchAsync_v2(void) { return OK; }
error_t_ cudaStreamAttachMemAsync(void) { return OK; }

PER_THREAD_S(cudaMemcpy);
PER_THREAD(cudaMemcpyAsync);
PER_THREAD_S(cudaMemset);
PER_THREAD(cudaMemsetAsync);
PER_THREAD_S(cudaMemset2D);
PER_THREAD(cudaMemset2DAsync);
PER_THREAD_S(cudaMemset3D);
PER_THREAD(cudaMemset3DAsync);
PER_THREAD(cudaMemPrefetchAsync);
PER_THREAD(cudaMemPrefetchAsync_v2);
PER_THREAD(cudaStreamAttachMemAsync);
