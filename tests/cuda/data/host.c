/* A CUDA program without nvcc: registers its kernels as nvcc's host code does, calls the runtime, and says what it found.
   The words of the command line name the parts to run. fatbin.inc holds the bytes of the fatbin. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct { unsigned x, y, z; } dim3;
typedef struct { int x, y, z, w, kind; } channels;
typedef struct { int magic, version; const void *data; void *file; } wrapper;
typedef struct { size_t width, height, depth; } extent;
struct resource { int type; union { void *array; int reserved[32]; } of; unsigned flags; };
struct sampling { int address[3], filter, read, srgb; float border[4]; int normalized; unsigned anisotropy;
                  int level_filter; float bias, least, most; int a, b; };

void **__cudaRegisterFatBinary(const void *);
void __cudaRegisterFatBinaryEnd(void **);
void __cudaRegisterFunction(void **, const void *, const char *, const char *, int, void *, void *, void *, void *, void *);
void __cudaRegisterVar(void **, const void *, const char *, const char *, int, size_t, int, int);
void __cudaRegisterManagedVar(void **, void **, const char *, const char *, int, size_t, int, int);
char __cudaInitModule(void **);
int cudaLaunchKernel(const void *, dim3, dim3, void **, size_t, void *);
int cudaMalloc(void *, size_t);
int cudaMallocManaged(void *, size_t, unsigned);
int cudaMallocHost(void *, size_t);
int cudaFree(void *);
int cudaFreeHost(void *);
int cudaMemcpy(void *, const void *, size_t, int);
int cudaMemset(void *, int, size_t);
int cudaMemcpyToSymbol(const void *, const void *, size_t, size_t, int);
int cudaMemcpyFromSymbol(void *, const void *, size_t, size_t, int);
int cudaHostRegister(void *, size_t, unsigned);
int cudaHostUnregister(void *);
int cudaHostGetDevicePointer(void *, void *, unsigned);
int cudaStreamCreate(void *);
int cudaEventCreate(void *);
int cudaEventRecord(void *, void *);
int cudaEventElapsedTime(float *, void *, void *);
int cudaMallocArray(void *, const channels *, size_t, size_t, unsigned);
int cudaMemcpy2DToArray(void *, size_t, size_t, const void *, size_t, size_t, size_t, int);
int cudaMemcpy2DFromArray(void *, size_t, void *, size_t, size_t, size_t, size_t, int);
int cudaCreateTextureObject(void *, const struct resource *, const struct sampling *, const void *);
int cudaCreateSurfaceObject(void *, const struct resource *);
int cudaGetLastError(void);
int cudaDeviceSynchronize(void);
int cudaDeviceGetAttribute(int *, int, int);
int cudaGetDeviceProperties(void *, int);
int cudaFuncGetAttributes(void *, const void *);
int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *, const void *, int, size_t);
int cudaGraphCreate(void *, unsigned);
const char *cudaGetErrorName(int);

static const unsigned char fatbin[] __attribute__((aligned(8))) = {
#include "fatbin.inc"
};
static const wrapper registered = {0x466243b1, 1, fatbin, NULL};
static float factors[2]; /* only the addresses of these stand for something */
static unsigned counter;
static int *managed;
static void scale(void) {}
static void sum(void) {}
static void lookup(void) {}
static void fill(void) {}
static void outside(void) {}

__attribute__((constructor)) static void register_all(void) {
  void **handle = __cudaRegisterFatBinary(&registered);
  struct { void *host; const char *name; } kernels[] = {
      {scale, "scale"}, {sum, "sum"}, {lookup, "lookup"}, {fill, "fill"}, {outside, "outside"}, {register_all, "none"}};
  for (int i = 0; i < 6; i++)
    __cudaRegisterFunction(handle, kernels[i].host, kernels[i].name, kernels[i].name, -1, 0, 0, 0, 0, 0);
  __cudaRegisterVar(handle, factors, "factors", "factors", 0, 8, 1, 0);
  __cudaRegisterVar(handle, &counter, "counter", "counter", 0, 4, 0, 0);
  __cudaRegisterManagedVar(handle, (void **)&managed, "managed", "managed", 0, 4, 0, 0);
  __cudaRegisterFatBinaryEnd(handle);
  __cudaInitModule(handle);
}

static int launch(void *kernel, unsigned grid, unsigned block, void **arguments, void *stream) {
  return cudaLaunchKernel(kernel, (dim3){grid, 1, 1}, (dim3){block, 1, 1}, arguments, 0, stream);
}

static int scaled(float *from, float *to, int count, void *stream) {
  return launch(scale, 4, 32, (void *[]){&from, &to, &count}, stream);
}

static void part_copies(void) {
  float host[100], back[100], *from, *to, set[2] = {2, 1};
  for (int i = 0; i < 100; i++) host[i] = i;
  int error = cudaMalloc(&from, sizeof host) | cudaMalloc(&to, sizeof host) | cudaMemset(to, 0, sizeof host);
  error |= cudaMemcpy(from, host, sizeof host, 1) | cudaMemcpyToSymbol(factors, set, 8, 0, 1);
  printf("before\n");
  error |= scaled(from, to, 100, NULL);
  printf("after\n");
  unsigned counted;
  error |= cudaMemcpy(back, to, sizeof back, 2) | cudaMemcpyFromSymbol(&counted, &counter, 4, 0, 2);
  printf("copies %d %g %g %u %d\n", error, back[3], back[99], counted, *managed);
  error = cudaFree(from) | cudaFree(to);
  printf("free %d again %s\n", error, cudaGetErrorName(cudaFree(to)));
}

static void part_shared(void) {
  float *from, *to, *pinned, *device, set[2] = {1, 10}, *own = malloc(256);
  void *stream;
  int error = cudaMallocManaged(&from, 400, 1) | cudaMallocHost(&pinned, 400) | cudaStreamCreate(&stream);
  error |= cudaMemcpyToSymbol(factors, set, 8, 0, 1);
  for (int i = 0; i < 100; i++) from[i] = i;
  for (int i = 0; i < 64; i++) own[i] = -i;
  error |= scaled(from, pinned, 100, stream);
  printf("pinned %d %g\n", error, pinned[99]);
  error = cudaHostRegister(own, 256, 0) | cudaHostGetDevicePointer(&device, own, 0);
  error |= scaled(from, device, 64, stream);
  own[0] += 0.5f; /* seen by the device */
  error |= scaled(device, pinned, 1, NULL) | cudaHostUnregister(own);
  own[1] += 1;
  printf("registered %d %g %g %g\n", error, own[63], own[1], pinned[0]);
  error = cudaFreeHost(pinned);
  printf("stack %s\n", cudaGetErrorName(cudaHostRegister(set, 8, 0)));
  printf("pinned freed %d %s\n", error, cudaGetErrorName(cudaFreeHost(from)));
}

static void part_parameters(void) {
  struct { short a; double b; } pair = {3, 0.25};
  double *to, found;
  char small = 4;
  int error = cudaMalloc(&to, 8) | launch(sum, 1, 1, (void *[]){&to, &pair, &small}, NULL);
  error |= cudaMemcpy(&found, to, 8, 4);
  printf("parameters %d %g\n", error, found);
}

static void part_images(void) {
  float texels[6] = {0, 1, 2, 3, 4, 5}, found[6], filled[6], *to;
  void *array;
  unsigned long long texture, surface;
  int error = cudaMallocArray(&array, &(channels){32, 0, 0, 0, 2}, 3, 2, 2) | cudaMalloc(&to, sizeof found), width = 3;
  error |= cudaMemcpy2DToArray(array, 0, 0, texels, 12, 12, 2, 1);
  struct resource resource = {0, {array}, 0};
  error |= cudaCreateTextureObject(&texture, &resource, &(struct sampling){{1, 1, 1}}, NULL);
  error |= launch(lookup, 1, 6, (void *[]){&texture, &to, &width}, NULL) | cudaMemcpy(found, to, sizeof found, 2);
  error |= cudaCreateSurfaceObject(&surface, &resource);
  width = 2;
  error |= launch(fill, 1, 4, (void *[]){&surface, &width}, NULL);
  error |= cudaMemcpy2DFromArray(filled, 12, array, 0, 0, 12, 2, 2);
  printf("images %d %g %g %g, %g %g %g\n", error, found[0], found[2], found[5], filled[1], filled[2], filled[3]);
}

static void part_errors(void) {
  float *none = (float *)16, host[4];
  int count = 1;
  void *arguments[] = {&none, &none, &count};
  printf("kernel %s\n", cudaGetErrorName(launch(printf, 1, 1, arguments, NULL)));
  printf("missing %s\n", cudaGetErrorName(launch(register_all, 1, 1, arguments, NULL)));
  printf("block %s\n", cudaGetErrorName(launch(scale, 1, 1025, arguments, NULL)));
  printf("grid %s\n", cudaGetErrorName(launch(scale, 0, 1, arguments, NULL)));
  printf("shared %s\n", cudaGetErrorName(cudaLaunchKernel(scale, (dim3){1, 1, 1}, (dim3){1, 1, 1}, arguments, 1 << 20, 0)));
  printf("copy %s\n", cudaGetErrorName(cudaMemcpy(host, host, 4, 1)));
  printf("symbol %s\n", cudaGetErrorName(cudaMemcpyToSymbol(host, host, 4, 0, 1)));
  printf("past %s\n", cudaGetErrorName(cudaMemcpyToSymbol(factors, host, 4, 8, 1)));
  printf("graph %s\n", cudaGetErrorName(cudaGraphCreate(&none, 0) | cudaGraphCreate(&none, 0)));
  printf("last %s", cudaGetErrorName(cudaGetLastError()));
  printf(", then %s\n", cudaGetErrorName(cudaGetLastError()));
}

static void part_device(void) {
  struct { char name[256], rest[2000]; } device;
  struct { size_t shared, constant, local; int threads, registers, ptx, binary, rest[64]; } kernel;
  int sms, major, blocks;
  void *start, *stop;
  float ms, none[1];
  int error = cudaGetDeviceProperties(&device, 0) | cudaDeviceGetAttribute(&sms, 16, 0);
  error |= cudaDeviceGetAttribute(&major, 75, 0) | cudaFuncGetAttributes(&kernel, scale);
  error |= cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, scale, 256, 0);
  printf("device %d %s %d %d\n", error, device.name, sms, major);
  printf("kernel %d %d %d %d\n", kernel.threads, kernel.ptx, kernel.binary, blocks);
  error = cudaEventCreate(&start) | cudaEventCreate(&stop) | cudaEventRecord(start, NULL);
  error |= scaled(none, none, 0, NULL) | cudaEventRecord(stop, NULL) | cudaEventElapsedTime(&ms, start, stop);
  printf("time %d %.6f\n", error, ms);
}

static void part_outside(void) {
  float *to;
  cudaMalloc(&to, 4);
  printf("outside %s\n", cudaGetErrorName(launch(outside, 1, 1, (void *[]){&to}, NULL)));
  printf("again %s\n", cudaGetErrorName(launch(outside, 1, 1, (void *[]){&to}, NULL)));
}

int main(int count, char **words) {
  struct { const char *name; void (*run)(void); } parts[] = {
      {"copies", part_copies}, {"shared", part_shared}, {"parameters", part_parameters}, {"images", part_images},
      {"errors", part_errors}, {"device", part_device}, {"outside", part_outside}};
  for (int i = 1; i < count; i++) {
    if (!strncmp(words[i], "exit", 4)) return atoi(words[i] + 4);
    if (!strcmp(words[i], "abort")) abort();
    for (int k = 0; k < 7; k++)
      if (!strcmp(parts[k].name, words[i])) parts[k].run();
  }
  return cudaDeviceSynchronize();
}
