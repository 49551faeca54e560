/* Arrays, copies of two and three axes, textures and surfaces. An array is packed rows in device memory. */
#include "graphs.h"

#include <stdlib.h>
#include <string.h>

enum { LAYERED = 1, CUBE = 4 };
#define MOST_LEVELS 16

typedef struct { unsigned count; array level[MOST_LEVELS]; } mip;
typedef struct {
  int type;
  union {
    array *array;
    mip *mip;
    struct { void *pointer; channels format; size_t bytes; } linear;
    struct { void *pointer; channels format; size_t width, height, pitch; } rows;
    int reserved[32];
  } of;
  unsigned flags;
} resource;
typedef struct {
  int address[3], filter, read, srgb;
  float border[4];
  int normalized;
  unsigned anisotropy;
  int level_filter;
  float bias, least, most;
} sampling;

static size_t texel_of(const channels *c) { return (c->x + c->y + c->z + c->w) / 8; }
static size_t or_one(size_t length) { return length ? length : 1; }
static size_t rows_of(const array *a) { return or_one(a->height); }

static error_t_ make(array *made, const channels *format, extent size, unsigned flags) {
  *made = (array){NULL, size.width, size.height, size.depth, texel_of(format), *format, flags};
  if (!made->texel || !size.width) return INVALID_VALUE;
  return take(made->texel * size.width * or_one(size.height) * or_one(size.depth), 512, ARRAY, (void **)&made->data);
}

error_t_ cudaMalloc3DArray(array **out, const channels *format, extent size, unsigned flags) {
  *out = malloc(sizeof **out);
  if (!*out) return note(NO_MEMORY);
  return note(make(*out, format, size, flags));
}

error_t_ cudaMallocArray(array **out, const channels *format, size_t width, size_t height, unsigned flags) {
  return cudaMalloc3DArray(out, format, (extent){width, height, 0}, flags);
}

static error_t_ drop(array *a) {
  word address = (word)a->data;
  lock();
  range *r = range_at(a->data);
  if (r) r->kind = DEVICE;
  unlock();
  extern error_t_ cudaFree(void *);
  return cudaFree((void *)address);
}

error_t_ cudaFreeArray(array *a) {
  if (!a) return OK;
  error_t_ error = drop(a);
  free(a);
  return error;
}

error_t_ cudaMallocMipmappedArray(mip **out, const channels *format, extent size, unsigned levels, unsigned flags) {
  if (!levels || levels > MOST_LEVELS || !(*out = calloc(1, sizeof **out))) return note(INVALID_VALUE);
  (*out)->count = levels;
  for (unsigned i = 0; i < levels; i++) {
    error_t_ error = make(&(*out)->level[i], format, size, flags);
    if (error) return note(error);
    size.width = or_one(size.width / 2);
    if (size.height) size.height = or_one(size.height / 2);
    if (size.depth && !(flags & (LAYERED | CUBE))) size.depth = or_one(size.depth / 2);
  }
  return OK;
}

error_t_ cudaGetMipmappedArrayLevel(array **out, mip *of, unsigned level) {
  if (level >= of->count) return note(INVALID_VALUE);
  *out = &of->level[level];
  return OK;
}

error_t_ cudaFreeMipmappedArray(mip *of) {
  for (unsigned i = 0; of && i < of->count; i++) drop(&of->level[i]);
  free(of);
  return OK;
}

error_t_ cudaArrayGetInfo(channels *format, extent *size, unsigned *flags, array *a) {
  if (format) *format = a->format;
  if (size) *size = (extent){a->width, a->height, a->depth};
  if (flags) *flags = a->flags;
  return OK;
}

channels cudaCreateChannelDesc(int x, int y, int z, int w, int kind) { return (channels){x, y, z, w, kind}; }

error_t_ cudaGetChannelDesc(channels *out, const array *a) {
  *out = a->format;
  return OK;
}

error_t_ copy_box(char *to, size_t to_row, size_t to_slice, const char *from, size_t from_row, size_t from_slice,
                  size_t width, size_t height, size_t depth) {
  if (!width || !height || !depth) return OK;
  if (width > to_row || width > from_row) return 12;
  if (!is_valid(to, to_slice * (depth - 1) + to_row * (height - 1) + width)) return INVALID_VALUE;
  if (!is_valid(from, from_slice * (depth - 1) + from_row * (height - 1) + width)) return INVALID_VALUE;
  for (size_t z = 0; z < depth; z++)
    for (size_t y = 0; y < height; y++) memmove(to + z * to_slice + y * to_row, from + z * from_slice + y * from_row, width);
  return OK;
}

static char *place(array *a, pitched *p, position at, size_t *row, size_t *slice) {
  *row = a ? a->width * a->texel : p->pitch;
  *slice = *row * (a ? rows_of(a) : p->ysize);
  return (a ? a->data + at.x * a->texel : (char *)p->ptr + at.x) + at.y * *row + at.z * *slice;
}

error_t_ cudaMemcpy3D(const box *given) {
  if (settle()) return note(OK);
  box b = *given;
  size_t to_row, to_slice, from_row, from_slice;
  array *either = b.to_array ? b.to_array : b.from_array;
  char *to = place(b.to_array, &b.to, b.to_at, &to_row, &to_slice);
  char *from = place(b.from_array, &b.from, b.from_at, &from_row, &from_slice);
  size_t width = b.size.width * (either ? either->texel : 1);
  return note(copy_box(to, to_row, to_slice, from, from_row, from_slice, width, b.size.height, b.size.depth));
}

error_t_ cudaMemcpy3DAsync(const box *given, stream *on) {
  return is_capturing(on) ? note(capture(on, &(work){.kind = N_COPY, .copy = *given})) : cudaMemcpy3D(given);
}

error_t_ cudaMemcpy2D(void *to, size_t to_row, const void *from, size_t from_row, size_t width, size_t height, int kind) {
  return settle() ? note(OK) : note(copy_box(to, to_row, 0, from, from_row, 0, width, height, 1));
}

error_t_ cudaMemcpy2DAsync(void *to, size_t to_row, const void *from, size_t from_row, size_t width, size_t height,
                           int kind, stream *on) {
  work copy = copy_of(to, to_row, from, from_row, width, height);
  if (is_capturing(on)) return note(capture(on, &copy));
  return cudaMemcpy2D(to, to_row, from, from_row, width, height, kind);
}

error_t_ cudaMemcpy2DToArray(array *a, size_t x, size_t y, const void *from, size_t from_row, size_t width,
                             size_t height, int kind) {
  size_t row = a->width * a->texel;
  return note(copy_box(a->data + y * row + x, row, 0, from, from_row, 0, width, height, 1));
}

error_t_ cudaMemcpy2DFromArray(void *to, size_t to_row, array *a, size_t x, size_t y, size_t width, size_t height,
                               int kind) {
  size_t row = a->width * a->texel;
  return note(copy_box(to, to_row, 0, a->data + y * row + x, row, 0, width, height, 1));
}

error_t_ cudaMemcpy2DToArrayAsync(array *a, size_t x, size_t y, const void *from, size_t row, size_t width,
                                  size_t height, int kind, stream *on) {
  if (is_capturing(on)) return lacking("cudaMemcpy2DToArrayAsync in a captured stream");
  return cudaMemcpy2DToArray(a, x, y, from, row, width, height, kind);
}

error_t_ cudaMemcpy2DFromArrayAsync(void *to, size_t row, array *a, size_t x, size_t y, size_t width, size_t height,
                                    int kind, stream *on) {
  if (is_capturing(on)) return lacking("cudaMemcpy2DFromArrayAsync in a captured stream");
  return cudaMemcpy2DFromArray(to, row, a, x, y, width, height, kind);
}

error_t_ cudaMemcpyToArray(array *a, size_t x, size_t y, const void *from, size_t bytes, int kind) {
  return note(copy_box(a->data + y * a->width * a->texel + x, bytes, 0, from, bytes, 0, bytes, 1, 1));
}

error_t_ cudaMemcpyFromArray(void *to, array *a, size_t x, size_t y, size_t bytes, int kind) {
  return note(copy_box(to, bytes, 0, a->data + y * a->width * a->texel + x, bytes, 0, bytes, 1, 1));
}

error_t_ cudaMemcpyToArrayAsync(array *a, size_t x, size_t y, const void *from, size_t bytes, int kind, stream *on) {
  if (is_capturing(on)) return lacking("cudaMemcpyToArrayAsync in a captured stream");
  return cudaMemcpyToArray(a, x, y, from, bytes, kind);
}

error_t_ cudaMemcpyFromArrayAsync(void *to, array *a, size_t x, size_t y, size_t bytes, int kind, stream *on) {
  if (is_capturing(on)) return lacking("cudaMemcpyFromArrayAsync in a captured stream");
  return cudaMemcpyFromArray(to, a, x, y, bytes, kind);
}

error_t_ cudaMemcpy2DArrayToArray(array *to, size_t to_x, size_t to_y, array *from, size_t x, size_t y, size_t width,
                                  size_t height, int kind) {
  size_t to_row = to->width * to->texel, row = from->width * from->texel;
  return note(copy_box(to->data + to_y * to_row + to_x, to_row, 0, from->data + y * row + x, row, 0, width, height, 1));
}

PER_THREAD_S(cudaMemcpy3D);
PER_THREAD(cudaMemcpy3DAsync);
PER_THREAD_S(cudaMemcpy2D);
PER_THREAD(cudaMemcpy2DAsync);
PER_THREAD_S(cudaMemcpy2DToArray);
PER_THREAD(cudaMemcpy2DToArrayAsync);
PER_THREAD_S(cudaMemcpy2DFromArray);
PER_THREAD(cudaMemcpy2DFromArrayAsync);
PER_THREAD_S(cudaMemcpyToArray);
PER_THREAD_S(cudaMemcpyFromArray);
PER_THREAD(cudaMemcpyToArrayAsync);
PER_THREAD(cudaMemcpyFromArrayAsync);
PER_THREAD_S(cudaMemcpy2DArrayToArray);

/* What a texture or surface is, as ASK_TEXTURE and ASK_SURFACE send it: 64-bit words. */
enum { GEOMETRY, BITS, KIND, CHANNELS, ROW_BYTES, FILTER, LEVEL_FILTER, ANISOTROPY, MODE_X, MODE_Y, MODE_Z, NORMALIZED,
       READ, SRGB, BORDER, LEVELS = BORDER + 4, LEVEL }; /* of each level: address, width, height, depth */
enum { G_1D, G_2D, G_3D, G_A1D, G_A2D, G_CUBE, G_ACUBE, G_LINEAR };

static int geometry_of(const array *a) {
  if (a->flags & CUBE) return a->flags & LAYERED ? G_ACUBE : G_CUBE;
  if (a->flags & LAYERED) return a->height ? G_A2D : G_A1D;
  return a->depth ? G_3D : a->height ? G_2D : G_1D;
}

static void add_level(word *words, const void *data, size_t width, size_t height, size_t depth) {
  memcpy(words + LEVEL + 4 * words[LEVELS]++, (word[]){(word)data, width, or_one(height), or_one(depth)}, 4 * sizeof(word));
}

static error_t_ describe(word *words, const resource *given) {
  const channels *format;
  size_t texel;
  memset(words, 0, LEVEL * sizeof(word));
  switch (given->type) {
    case 0: case 1: {
      unsigned count = given->type ? given->of.mip->count : 1;
      const array *levels = given->type ? given->of.mip->level : given->of.array;
      for (unsigned i = 0; i < count; i++)
        add_level(words, levels[i].data, levels[i].width, levels[i].height, levels[i].depth);
      words[GEOMETRY] = geometry_of(levels);
      format = &levels->format;
      break;
    }
    case 2:
      format = &given->of.linear.format;
      if (!(texel = texel_of(format))) return 20;
      words[GEOMETRY] = G_LINEAR;
      add_level(words, given->of.linear.pointer, given->of.linear.bytes / texel, 1, 1);
      break;
    case 3:
      format = &given->of.rows.format;
      words[GEOMETRY] = G_2D;
      words[ROW_BYTES] = given->of.rows.pitch;
      add_level(words, given->of.rows.pointer, given->of.rows.width, given->of.rows.height, 1);
      break;
    default: return INVALID_VALUE;
  }
  words[BITS] = format->x;
  words[KIND] = format->kind;
  words[CHANNELS] = (format->x > 0) + (format->y > 0) + (format->z > 0) + (format->w > 0);
  return OK;
}

static error_t_ create(unsigned what, word *words, word *out) {
  word *reply;
  size_t bytes = (LEVEL + 4 * words[LEVELS]) * sizeof(word);
  error_t_ error = ask(what, words, bytes, (void **)&reply, NULL);
  if (!error) *out = reply[0];
  free(reply);
  return note(error);
}

error_t_ cudaCreateTextureObject(word *out, const resource *given, const sampling *how, const void *view) {
  word words[LEVEL + 4 * MOST_LEVELS];
  error_t_ error = describe(words, given);
  if (error) return note(error);
  words[FILTER] = how->filter;
  words[LEVEL_FILTER] = how->level_filter;
  words[ANISOTROPY] = how->anisotropy > 1 ? how->anisotropy : 1;
  for (int axis = 0; axis < 3; axis++) {
    int mode = how->address[axis];
    words[MODE_X + axis] = !how->normalized && (mode == 0 || mode == 2) ? 1 : mode; /* CUDA clamps them then */
  }
  words[NORMALIZED] = how->normalized != 0;
  words[READ] = how->read;
  words[SRGB] = how->srgb != 0;
  for (int i = 0; i < 4; i++) memcpy(&words[BORDER + i], &(double){how->border[i]}, sizeof(word));
  return create(ASK_TEXTURE, words, out);
}

error_t_ cudaCreateSurfaceObject(word *out, const resource *given) {
  word words[LEVEL + 4 * MOST_LEVELS];
  error_t_ error = given->type ? INVALID_VALUE : describe(words, given);
  return error ? note(error) : create(ASK_SURFACE, words, out);
}

error_t_ cudaDestroyTextureObject(word handle) { return OK; }
error_t_ cudaDestroySurfaceObject(word handle) { return OK; }
