/* Binaries, kernels and variables as the host code registers them; launches. */
#include "graphs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FATBIN_MAGIC 0xBA55ED50u
#define PARAMETER_BYTES 32764
#define PLAIN_SHARED 49152 /* what a CTA may take without cudaFuncSetAttribute */

typedef struct { uint32_t magic; uint16_t version, header; word bytes; } fatbin;
typedef struct { int magic, version; const fatbin *data; const fatbin **linked; } wrapper;
typedef struct { unsigned number; } binary;

typedef struct { /* a __device__, __constant__ or __managed__ variable */
  const void *host;
  void **managed;
  unsigned binary;
  char *name;
  word address, bytes;
} variable;

static function **functions;
static variable *variables;
static size_t function_count, variable_count;

static size_t size_of(const fatbin *found) {
  if (!found || found->magic != FATBIN_MAGIC) end("the program registers a binary that is no fatbin");
  return found->header + found->bytes;
}

/* One fatbin, or those that nvlink has put together (-rdc=true): a count, then sizes and bytes. */
void **__cudaRegisterFatBinary(const wrapper *given) {
  size_t count = 0, bytes = 8, at = 8;
  const fatbin *one[2] = {given->data, NULL}, **parts = one;
  if (given->version == 2 && given->linked) parts = given->linked;
  while (parts[count]) bytes += 8 + size_of(parts[count++]);
  char *payload = malloc(bytes);
  binary *made = malloc(sizeof *made);
  if (!payload || !made) end("no memory");
  memcpy(payload, &(word){count}, 8);
  for (size_t i = 0; i < count; i++) {
    word size = size_of(parts[i]);
    memcpy(payload + at, &size, 8);
    memcpy(payload + at + 8, parts[i], size);
    at += 8 + size;
  }
  uint32_t *reply;
  ask(ASK_BINARY, payload, bytes, (void **)&reply, NULL);
  made->number = reply[0];
  free(reply);
  free(payload);
  return (void **)made;
}

void __cudaRegisterFatBinaryEnd(void **handle) {}
void __cudaUnregisterFatBinary(void **handle) {}

void __cudaRegisterFunction(void **handle, const void *host, char *device, const char *name, int limit, void *tid,
                            void *bid, void *block, void *grid, int *warp) {
  lock();
  functions = realloc(functions, (function_count + 1) * sizeof *functions);
  function *made = calloc(1, sizeof *made);
  if (!functions || !made) end("no memory");
  *made = (function){.host = host, .binary = ((binary *)handle)->number, .name = strdup(name)};
  functions[function_count++] = made;
  unlock();
}

static void add_variable(void **handle, const void *host, void **managed, const char *name) {
  lock();
  variables = realloc(variables, (variable_count + 1) * sizeof *variables);
  if (!variables) end("no memory");
  variables[variable_count++] =
      (variable){.host = host, .managed = managed, .binary = ((binary *)handle)->number, .name = strdup(name)};
  unlock();
}

void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int external, size_t size,
                       int constant, int global) {
  add_variable(handle, host, NULL, name);
}

void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name, int external, size_t size,
                              int constant, int global) {
  add_variable(handle, host, host, name);
}

static error_t_ ask_place(variable *v) {
  size_t length = strlen(v->name);
  char *payload = malloc(4 + length);
  if (!payload) end("no memory");
  memcpy(payload, &v->binary, 4);
  memcpy(payload + 4, v->name, length);
  word *reply;
  error_t_ error = ask(ASK_VARIABLE, payload, 4 + length, (void **)&reply, NULL);
  if (!error) {
    v->address = reply[0];
    v->bytes = reply[1];
    add_range(v->address, v->bytes, VARIABLE, NULL);
  }
  free(reply);
  free(payload);
  return error;
}

/* The address and bytes of a variable, asked once: threads share what the first one finds. */
static error_t_ place(variable *v) {
  lock();
  error_t_ error = v->address ? OK : ask_place(v);
  unlock();
  return error;
}

char __cudaInitModule(void **handle) {
  for (size_t i = 0; i < variable_count; i++)
    if (variables[i].managed && variables[i].binary == ((binary *)handle)->number && !place(&variables[i]))
      *variables[i].managed = (void *)variables[i].address;
  return 1;
}

static error_t_ variable_of(const void *host, variable **out) {
  for (size_t i = 0; i < variable_count; i++) {
    variable *v = &variables[i];
    if (v->host == host || (v->managed && *v->managed == host && host)) {
      *out = v;
      return place(v);
    }
  }
  return INVALID_SYMBOL;
}

error_t_ cudaGetSymbolAddress(void **out, const void *symbol) {
  variable *v;
  error_t_ error = variable_of(symbol, &v);
  if (!error) *out = (void *)v->address;
  return note(error);
}

error_t_ cudaGetSymbolSize(size_t *out, const void *symbol) {
  variable *v;
  error_t_ error = variable_of(symbol, &v);
  if (!error) *out = v->bytes;
  return note(error);
}

error_t_ symbol_place(const void *symbol, size_t offset, size_t bytes, void **out) {
  variable *v;
  error_t_ error = variable_of(symbol, &v);
  if (!error && (offset > v->bytes || bytes > v->bytes - offset)) error = INVALID_VALUE;
  if (!error) *out = (char *)v->address + offset;
  return error;
}

error_t_ cudaMemcpyToSymbolAsync(const void *symbol, const void *from, size_t bytes, size_t offset, int kind,
                                 stream *on) {
  void *to;
  error_t_ error = symbol_place(symbol, offset, bytes, &to);
  if (error) return note(error);
  work copy = copy_of(to, bytes, from, bytes, bytes, 1);
  return is_capturing(on) ? note(capture(on, &copy)) : cudaMemcpy3D(&copy.copy);
}

error_t_ cudaMemcpyFromSymbolAsync(void *to, const void *symbol, size_t bytes, size_t offset, int kind, stream *on) {
  void *from;
  error_t_ error = symbol_place(symbol, offset, bytes, &from);
  if (error) return note(error);
  work copy = copy_of(to, bytes, from, bytes, bytes, 1);
  return is_capturing(on) ? note(capture(on, &copy)) : cudaMemcpy3D(&copy.copy);
}

error_t_ cudaMemcpyToSymbol(const void *symbol, const void *from, size_t bytes, size_t offset, int kind) {
  return cudaMemcpyToSymbolAsync(symbol, from, bytes, offset, kind, NULL);
}

error_t_ cudaMemcpyFromSymbol(void *to, const void *symbol, size_t bytes, size_t offset, int kind) {
  return cudaMemcpyFromSymbolAsync(to, symbol, bytes, offset, kind, NULL);
}

PER_THREAD_S(cudaMemcpyToSymbol);
PER_THREAD_S(cudaMemcpyFromSymbol);
PER_THREAD(cudaMemcpyToSymbolAsync);
PER_THREAD(cudaMemcpyFromSymbolAsync);

function *function_at(const void *host) {
  for (size_t i = 0; i < function_count; i++)
    if (functions[i]->host == host || functions[i] == host) return functions[i];
  return NULL;
}

static error_t_ ask_function(function *f) {
  size_t length = strlen(f->name), answered;
  char *payload = malloc(4 + length);
  if (!payload) end("no memory");
  memcpy(payload, &f->binary, 4);
  memcpy(payload + 4, f->name, length);
  char *reply;
  error_t_ error = ask(ASK_FUNCTION, payload, 4 + length, (void **)&reply, &answered);
  if (!error) { /* number, count, figures, sizes */
    memcpy(&f->number, reply, 4);
    memcpy(&f->count, reply + 4, 4);
    memcpy(f->figures, reply + 8, sizeof f->figures);
    f->sizes = malloc(4 * f->count + 4);
    if (!f->sizes) end("no memory");
    memcpy(f->sizes, reply + 8 + sizeof f->figures, 4 * f->count);
  }
  free(reply);
  free(payload);
  return error;
}

/* The function of a host stub, with the sizes of its parameters, asked once as a variable's place is. */
error_t_ resolved(const void *host, function **out) {
  function *f = function_at(host);
  *out = f;
  if (!f) return INVALID_FUNCTION;
  lock();
  error_t_ error = f->sizes ? OK : ask_function(f);
  unlock();
  return error;
}

typedef struct { uint32_t function, grid[3], block[3], stream, cooperative, bytes; word shared; } launch_head;

error_t_ launch(const void *host, dim3 grid, dim3 block, void **arguments, size_t shared, stream *on, int cooperative) {
  if (is_capturing(on)) {
    work made = {.kind = N_KERNEL, .cooperative = cooperative, .kernel = {host, grid, block, shared, arguments, NULL}};
    return note(capture(on, &made));
  }
  function *f;
  error_t_ error = resolved(host, &f);
  if (error) return note(error);
  word most = PLAIN_SHARED > f->figures[F_SHARED] ? PLAIN_SHARED - f->figures[F_SHARED] : 0;
  if (f->largest_shared > 0 && (word)f->largest_shared > most) most = f->largest_shared;
  if (shared > most) return note(INVALID_VALUE);
  launch_head head = {f->number, {grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, stream_number(on),
                      cooperative, 0, shared};
  char payload[sizeof head + PARAMETER_BYTES];
  if (f->count && !arguments) return note(INVALID_VALUE);
  for (unsigned i = 0; i < f->count; i++) {
    if (head.bytes + f->sizes[i] > PARAMETER_BYTES) return note(INVALID_VALUE);
    memcpy(payload + sizeof head + head.bytes, arguments[i], f->sizes[i]);
    head.bytes += f->sizes[i];
  }
  memcpy(payload, &head, sizeof head);
  char *reply; /* nominal time, and what the kernel has printed */
  size_t length;
  error = ask(ASK_LAUNCH, payload, sizeof head + head.bytes, (void **)&reply, &length);
  if (length >= 8) {
    memcpy(&nominal_ns, reply, 8);
    fwrite(reply + 8, 1, length - 8, stdout);
  }
  free(reply);
  if (error == ILLEGAL_ADDRESS || error == ASSERTION || error == LAUNCH_FAILURE) {
    fail(error);
    return note(OK);
  }
  return note(error);
}

error_t_ cudaLaunchKernel(const void *host, dim3 grid, dim3 block, void **arguments, size_t shared, stream *on) {
  return launch(host, grid, block, arguments, shared, on, 0);
}

error_t_ __cudaLaunchKernel(const void *kernel, dim3 grid, dim3 block, void **arguments, size_t shared, stream *on) {
  return launch(kernel, grid, block, arguments, shared, on, 0);
}

error_t_ cudaLaunchCooperativeKernel(const void *host, dim3 grid, dim3 block, void **arguments, size_t shared,
                                     stream *on) {
  return launch(host, grid, block, arguments, shared, on, 1);
}

typedef struct { int id; int pad; union { char bytes[64]; int number; unsigned three[3]; } value; } attribute;
typedef struct { dim3 grid, block; size_t shared; stream *on; attribute *attributes; unsigned count; } configuration;
error_t_ cudaLaunchKernelExC(const configuration *given, const void *host, void **arguments) {
  int cooperative = 0;
  for (unsigned i = 0; i < given->count; i++) {
    const attribute *a = &given->attributes[i];
    if (a->id == IS_COOPERATIVE) cooperative = a->value.number;
    if (a->id == CLUSTER && is_cluster(a->value.three))
      return lacking("cudaLaunchKernelEx with clusters of more than one CTA");
  }
  return launch(host, given->grid, given->block, arguments, given->shared, given->on, cooperative);
}

error_t_ __cudaGetKernel(void **out, const void *host) {
  *out = function_at(host);
  return *out ? OK : note(INVALID_FUNCTION);
}

error_t_ cudaGetKernel(void **out, const void *host) { return __cudaGetKernel(out, host); }
error_t_ cudaGetFuncBySymbol(void **out, const void *host) { return __cudaGetKernel(out, host); }

PER_THREAD(cudaLaunchKernel);
PER_THREAD(__cudaLaunchKernel);
PER_THREAD(cudaLaunchCooperativeKernel);
PER_THREAD(cudaLaunchKernelExC);

/* Between <<< >>> and the stub of the kernel. */
static __thread struct { dim3 grid, block; size_t shared; void *on; } calls[16];
static __thread int depth;

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, void *on) {
  if (depth == 16) return INVALID_CONFIGURATION;
  calls[depth].grid = grid;
  calls[depth].block = block;
  calls[depth].shared = shared;
  calls[depth++].on = on;
  return OK;
}

error_t_ __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *on) {
  if (!depth) return INVALID_CONFIGURATION;
  *grid = calls[--depth].grid;
  *block = calls[depth].block;
  *shared = calls[depth].shared;
  *(void **)on = calls[depth].on;
  return OK;
}

typedef struct {
  size_t shared, constant, local;
  int threads, registers, ptx, binary, cached, most_dynamic, carveout, cluster, required[3], scheduling, portable,
      reserved[16];
} function_attributes;

error_t_ cudaFuncGetAttributes(void *out, const void *host) {
  function *f;
  error_t_ error = resolved(host, &f);
  if (error) return note(error);
  word *of = f->figures, most = of[F_MOST_DYNAMIC];
  function_attributes made = {of[F_SHARED], of[F_CONSTANT], of[F_LOCAL], of[F_THREADS], of[F_REGISTERS], of[F_PTX],
                              of[F_BINARY], 0, most < PLAIN_SHARED ? most : PLAIN_SHARED - of[F_SHARED], -1};
  if (f->largest_shared > made.most_dynamic) made.most_dynamic = f->largest_shared;
  memcpy(out, &made, offsetof(function_attributes, cluster)); /* the rest is of later versions, and zero */
  return OK;
}

error_t_ cudaFuncSetAttribute(const void *host, int what, int value) {
  function *f;
  error_t_ error = resolved(host, &f);
  if (error) return note(error);
  if (what == 8) {
    if (value < 0 || (word)value > f->figures[F_MOST_DYNAMIC]) return note(INVALID_VALUE);
    f->largest_shared = value;
  }
  return OK;
}

error_t_ cudaFuncSetCacheConfig(const void *host, int value) { return OK; }
error_t_ cudaFuncSetSharedMemConfig(const void *host, int value) { return OK; }

error_t_ cudaFuncGetName(const char **name, const void *host) {
  function *f = function_at(host);
  if (!f) return note(INVALID_FUNCTION);
  *name = f->name;
  return OK;
}

/* CTAs of a kernel that an SM holds, by threads, registers and shared memory. */
error_t_ cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *out, const void *host, int threads, size_t dynamic,
                                                                unsigned flags) {
  function *f;
  error_t_ error = resolved(host, &f);
  if (error || !out || threads < 1) return note(error ? error : INVALID_VALUE);
  const word *has = card();
  word warps = (threads + 31) / 32, found = has[C_CTAS], registers = f->figures[F_REGISTERS];
  word shared = f->figures[F_SHARED] + dynamic;
  if (has[C_WARPS] / warps < found) found = has[C_WARPS] / warps;
  if (registers && has[C_REGISTERS] / (32 * warps * registers) < found) found = has[C_REGISTERS] / (32 * warps * registers);
  if (!found && threads <= (int)f->figures[F_THREADS]) found = 1; /* an assembler would spill registers to make it fit */
  if (shared && has[C_SHARED] / shared < found) found = has[C_SHARED] / shared;
  *out = (int)found;
  return OK;
}

error_t_ cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *out, const void *host, int threads, size_t dynamic) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(out, host, threads, dynamic, 0);
}

error_t_ cudaOccupancyAvailableDynamicSMemPerBlock(size_t *out, const void *host, int blocks, int threads) {
  function *f;
  error_t_ error = resolved(host, &f);
  if (error || !out || blocks < 1) return note(error ? error : INVALID_VALUE);
  word each = card()[C_SHARED] / blocks;
  *out = each > f->figures[F_SHARED] ? each - f->figures[F_SHARED] : 0;
  return OK;
}
