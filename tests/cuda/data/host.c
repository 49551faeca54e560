/* A CUDA program without nvcc: registers its kernels as nvcc's host code does, calls the runtime, and says what it found.
   The words of the command line name the parts to run. fatbin.inc holds the bytes of the fatbin. */
#include <pthread.h>
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
struct kernel_node { const void *kernel; dim3 grid, block; unsigned shared; void **arguments, **extra; };
struct fill_node { void *to; size_t pitch; unsigned value, size; size_t width, height; };
struct host_node { void (*call)(void *); void *data; };
int cudaGraphAddMemcpyNode1D(void *, void *, void **, size_t, void *, const void *, size_t, int);
int cudaGraphAddKernelNode(void *, void *, void **, size_t, const struct kernel_node *);
int cudaGraphAddMemsetNode(void *, void *, void **, size_t, const struct fill_node *);
int cudaGraphAddHostNode(void *, void *, void **, size_t, const struct host_node *);
int cudaGraphExecKernelNodeSetParams(void *, void *, const struct kernel_node *);
int cudaGraphAddDependencies(void *, void **, void **, const void *, size_t);
int cudaGraphInstantiate(void *, void *, unsigned long long);
int cudaGraphExecUpdate(void *, void *, void *);
int cudaGraphLaunch(void *, void *);
int cudaGraphAddChildGraphNode(void *, void *, void **, size_t, void *);
int cudaGraphAddEmptyNode(void *, void *, void **, size_t);
int cudaGraphAddEventRecordNode(void *, void *, void **, size_t, void *);
int cudaGraphAddEventWaitNode(void *, void *, void **, size_t, void *);
int cudaGraphChildGraphNodeGetGraph(void *, void *);
int cudaGraphClone(void *, void *);
int cudaGraphExecChildGraphNodeSetParams(void *, void *, void *);
int cudaGraphNodeFindInClone(void *, void *, void *);
int cudaGraphNodeGetEnabled(void *, void *, unsigned *);
int cudaGraphNodeSetEnabled(void *, void *, unsigned);
int cudaStreamDestroy(void *);
struct node_parameters { int kind, reserved[3];
                         union { long long padding[29]; struct kernel_node kernel; struct fill_node fill; void *memory, *child;
                                 struct { char pool[88]; const void *access; size_t count, bytes; void *out; } take; } of;
                         long long last; };
int cudaGraphAddNode(void *, void *, void **, const void *, size_t, struct node_parameters *);
int cudaGraphExecNodeSetParams(void *, void *, struct node_parameters *);
int cudaGraphNodeSetParams(void *, struct node_parameters *);
int cudaGraphAddMemAllocNode(void *, void *, void **, size_t, void *);
int cudaGraphAddNode_v2(void *, void *, void **, const void *, size_t, struct node_parameters *);
int cudaGraphAddDependencies_v2(void *, void **, void **, const void *, size_t);
int cudaGraphRemoveDependencies_v2(void *, void **, void **, const void *, size_t);
int cudaGraphGetEdges_v2(void *, void **, void **, void *, size_t *);
int cudaGraphNodeGetDependencies_v2(void *, void **, void *, size_t *);
int cudaGraphNodeGetDependentNodes_v2(void *, void **, void *, size_t *);
int cudaStreamUpdateCaptureDependencies_v2(void *, void **, const void *, size_t, unsigned);
int cudaGraphGetRootNodes(void *, void *, size_t *);
int cudaGraphKernelNodeGetAttribute(void *, int, void *);
int cudaGraphKernelNodeSetAttribute(void *, int, const void *);
int cudaGraphKernelNodeCopyAttributes(void *, void *);
int cudaStreamCreateWithPriority(void *, unsigned, int);
int cudaStreamGetPriority(void *, int *);
int cudaStreamCopyAttributes(void *, void *);
int cudaMemGetInfo(size_t *, size_t *);
int cudaGraphDestroyNode(void *);
int cudaGraphRemoveDependencies(void *, void **, void **, const void *, size_t);
int cudaGraphNodeGetDependentNodes(void *, void *, void *, size_t *);
int cudaGraphDebugDotPrint(void *, const char *, unsigned);
int cudaMemPoolCreate(void *, const void *);
int cudaMemPoolDestroy(void *);
int cudaMemPoolSetAttribute(void *, int, void *);
int cudaMemPoolGetAttribute(void *, int, void *);
int cudaMemPoolGetAccess(int *, void *, const void *);
int cudaMallocFromPoolAsync(void *, size_t, void *, void *);
int cudaDeviceGetDefaultMemPool(void *, int);
int cudaStreamSetAttribute(void *, int, const void *);
int cudaStreamGetAttribute(void *, int, void *);
int cudaDeviceCanAccessPeer(int *, int, int);
int cudaDeviceEnablePeerAccess(int, unsigned);
int cudaDeviceGetPCIBusId(char *, int, int);
int cudaDeviceGetByPCIBusId(int *, const char *);
int cudaStreamIsCapturing(void *, int *);
int cudaGraphGetNodes(void *, void *, size_t *);
int cudaGraphDestroy(void *);
int cudaGraphExecDestroy(void *);
int cudaStreamBeginCapture(void *, int);
int cudaStreamEndCapture(void *, void *);
int cudaStreamWaitEvent(void *, void *, unsigned);
int cudaStreamSynchronize(void *);
int cudaMemcpyAsync(void *, const void *, size_t, int, void *);
int cudaMemsetAsync(void *, int, size_t, void *);
int cudaMallocAsync(void *, size_t, void *);
int cudaFreeAsync(void *, void *);
int cudaIpcGetMemHandle(void *, void *);
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
static void checked(void) {}

__attribute__((constructor)) static void register_all(void) {
  void **handle = __cudaRegisterFatBinary(&registered);
  struct { void *host; const char *name; } kernels[] = {
      {scale, "scale"}, {sum, "sum"}, {lookup, "lookup"}, {fill, "fill"}, {outside, "outside"},
      {checked, "checked"}, {register_all, "none"}};
  for (int i = 0; i < 7; i++)
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
  printf("handle %s\n", cudaGetErrorName(cudaIpcGetMemHandle(&none, none) | cudaIpcGetMemHandle(&none, none)));
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

static float seen[4], back[4];
static void look(void *data) { memcpy(data, back, sizeof back); }

/* A graph of nodes: 2 x + 1, then with other arguments 2 (2 x + 1) + 1; nodes may be added before those they need. */
static void part_graph(void) {
  float host[4] = {1, 2, 3, 4}, *from, *to, set[2] = {2, 1};
  int count = 4, error = cudaMalloc(&from, 16) | cudaMalloc(&to, 16) | cudaMemcpyToSymbol(factors, set, 8, 0, 1);
  void *graph, *ready, *nodes[4], *arguments[] = {&from, &to, &count};
  size_t found;
  struct kernel_node work = {scale, {1, 1, 1}, {32, 1, 1}, 0, arguments, NULL};
  struct host_node call = {look, seen};
  error |= cudaGraphCreate(&graph, 0) | cudaGraphAddMemcpyNode1D(&nodes[2], graph, NULL, 0, back, to, 16, 2);
  error |= cudaGraphAddHostNode(&nodes[3], graph, &nodes[2], 1, &call);
  error |= cudaGraphAddMemcpyNode1D(&nodes[0], graph, NULL, 0, from, host, 16, 1);
  error |= cudaGraphAddKernelNode(&nodes[1], graph, &nodes[0], 1, &work);
  error |= cudaGraphAddDependencies(graph, &nodes[1], &nodes[2], NULL, 1) | cudaGraphInstantiate(&ready, graph, 0);
  count = 0; /* arguments are kept when a node is made */
  error |= cudaGraphGetNodes(graph, NULL, &found) | cudaGraphLaunch(ready, NULL);
  printf("graph %d %zu %g %g\n", error, found, seen[0], seen[3]);
  float *other = to;
  int all = 4;
  void *again[] = {&other, &to, &all};
  work.arguments = again;
  error = cudaGraphExecKernelNodeSetParams(ready, nodes[1], &work) | cudaGraphLaunch(ready, NULL);
  printf("changed %d %g\n", error, seen[0]);
  error = cudaGraphAddDependencies(graph, &nodes[3], &nodes[0], NULL, 1);
  printf("circle %d %s\n", error, cudaGetErrorName(cudaGraphInstantiate(&again[0], graph, 0)));
  error = cudaGraphExecDestroy(ready) | cudaGraphDestroy(graph);
}

/* Two streams become one graph; memory that it takes is its own, and nothing runs before it is launched. */
static void part_capture(void) {
  float host[4] = {1, 2, 3, 4}, *from, *to, set[2] = {3, 0};
  void *stream, *side, *fork, *join, *graph, *ready;
  struct { int result; void *at, *from; } updated;
  size_t found;
  int error = cudaMalloc(&to, 16) | cudaStreamCreate(&stream) | cudaStreamCreate(&side) | cudaEventCreate(&fork);
  error |= cudaEventCreate(&join) | cudaMemcpyToSymbol(factors, set, 8, 0, 1) | cudaMemset(to, 0, 16);
  for (int pass = 0; pass < 2; pass++) {
    error |= cudaStreamBeginCapture(stream, 0) | cudaEventRecord(fork, stream) | cudaStreamWaitEvent(side, fork, 0);
    error |= cudaMallocAsync(&from, 16, stream) | cudaMemcpyAsync(from, host, 16, 1, stream);
    error |= cudaMemsetAsync(to, 255, 16, side) | cudaEventRecord(join, side) | cudaStreamWaitEvent(stream, join, 0);
    error |= scaled(from, to, 4 - pass, stream) | cudaFreeAsync(from, stream) | cudaMemcpyAsync(back, to, 16, 2, stream);
    if (!pass) printf("waiting %s\n", cudaGetErrorName(cudaStreamSynchronize(stream)));
    error |= cudaStreamEndCapture(stream, &graph) | cudaGraphGetNodes(graph, NULL, &found);
    if (!pass) printf("before %d %zu %g\n", error, found, back[3]);
    error |= pass ? cudaGraphExecUpdate(ready, graph, &updated) : cudaGraphInstantiate(&ready, graph, 0);
    error |= cudaGraphLaunch(ready, side) | cudaGraphLaunch(ready, side);
    printf("captured %d %g %s\n", error, back[0], back[3] == 12 ? "12" : "none");
  }
}

static void part_gone(void) {
  void *stream, *side, *fork, *graph;
  int status, *to, found, error = cudaMalloc(&to, 4) | cudaStreamCreate(&stream) | cudaStreamCreate(&side);
  error |= cudaEventCreate(&fork) | cudaStreamBeginCapture(stream, 0) | cudaEventRecord(fork, stream);
  error |= cudaStreamWaitEvent(side, fork, 0) | cudaStreamDestroy(stream) | cudaStreamIsCapturing(side, &status);
  error |= cudaMemsetAsync(to, 1, 4, side) | cudaMemcpy(&found, to, 4, 2);
  printf("gone %d %d %x %s\n", error, status, found, cudaGetErrorName(cudaStreamEndCapture(side, &graph)));
}

/* A graph in a graph, cloned, updated, changed in the inner one, with a node that is disabled. */
static void part_nested(void) {
  float host[4] = {1, 2, 3, 4}, *from, *to, set[2] = {2, 1}, ms;
  int count = 4, error = cudaMalloc(&from, 16) | cudaMalloc(&to, 16) | cudaMemcpyToSymbol(factors, set, 8, 0, 1);
  void *arguments[] = {&from, &to, &count}, *again[] = {&to, &to, &count}, *node[5], *inside, *last, *middle, *other;
  void *inner, *outer, *copy, *ready, *start, *event;
  struct { int result; void *at, *from; } updated;
  struct kernel_node work = {scale, {1, 1, 1}, {32, 1, 1}, 0, arguments, NULL};
  size_t one = 1;
  unsigned enabled;
  error |= cudaEventCreate(&start) | cudaEventCreate(&event) | cudaEventRecord(start, NULL);
  error |= cudaGraphCreate(&inner, 0) | cudaGraphAddKernelNode(&other, inner, NULL, 0, &work) | cudaGraphCreate(&outer, 0);
  error |= cudaGraphAddMemcpyNode1D(&node[0], outer, NULL, 0, from, host, 16, 1);
  error |= cudaGraphAddChildGraphNode(&node[1], outer, &node[0], 1, inner);
  error |= cudaGraphAddEventRecordNode(&node[2], outer, &node[1], 1, event);
  error |= cudaGraphAddEventWaitNode(&node[3], outer, &node[2], 1, event);
  error |= cudaGraphAddMemcpyNode1D(&node[4], outer, &node[3], 1, back, to, 16, 2) | cudaGraphClone(&copy, outer);
  error |= cudaGraphNodeFindInClone(&middle, node[1], copy) | cudaGraphNodeFindInClone(&last, node[4], copy);
  error |= cudaGraphChildGraphNodeGetGraph(middle, &other) | cudaGraphGetNodes(other, &inside, &one);
  error |= cudaGraphInstantiate(&ready, copy, 0) | cudaGraphLaunch(ready, NULL) | cudaEventElapsedTime(&ms, start, event);
  printf("nested %d %g %d\n", error, back[3], ms > 0);
  work.arguments = again; /* the node inside is known after an update too */
  error = cudaGraphExecUpdate(ready, outer, &updated) | cudaGraphExecChildGraphNodeSetParams(ready, middle, inner);
  error |= cudaGraphExecKernelNodeSetParams(ready, inside, &work) | cudaGraphLaunch(ready, NULL);
  printf("changed %d %g\n", error, back[3]);
  error = cudaGraphNodeSetEnabled(ready, last, 0) | cudaGraphNodeGetEnabled(ready, last, &enabled) | cudaGraphLaunch(ready, NULL);
  printf("disabled %d %u %g\n", error, enabled, back[3]);
  error = cudaGraphNodeSetEnabled(ready, last, 1) | cudaGraphLaunch(ready, NULL);
  printf("enabled %d %g\n", error, back[3]);
  cudaGraphAddEmptyNode(&other, inner, NULL, 0);
  printf("child %s\n", cudaGetErrorName(cudaGraphExecChildGraphNodeSetParams(ready, middle, inner)));
  cudaGraphChildGraphNodeGetGraph(node[1], &inner);
  cudaGraphAddEmptyNode(&other, inner, NULL, 0);
  error = cudaGraphExecUpdate(ready, outer, &updated);
  printf("differs %s %d\n", cudaGetErrorName(error), updated.result);
  printf("foreign %s\n", cudaGetErrorName(cudaGraphAddEmptyNode(&other, outer, &inside, 1)));
  printf("none %s", cudaGetErrorName(cudaGraphExecChildGraphNodeSetParams(ready, middle, NULL)));
  printf(" %s", cudaGetErrorName(cudaGraphAddChildGraphNode(&other, outer, NULL, 0, NULL)));
  printf(" %s", cudaGetErrorName(cudaGraphCreate(NULL, 0)));
  work.arguments = NULL;
  printf(" %s", cudaGetErrorName(cudaGraphAddKernelNode(&other, outer, NULL, 0, &work)));
  printf(" %s", cudaGetErrorName(launch(scale, 1, 1, NULL, NULL)));
  work.kernel = printf;
  printf(", %s\n", cudaGetErrorName(cudaGraphAddKernelNode(&other, outer, NULL, 0, &work)));
}

/* Nodes by their common call: memory, a fill with 1 (then 2), 2 x + 1, a copy back; then without the kernel. */
static void part_edit(void) {
  struct node_parameters taken = {10, {0}, {.take = {.bytes = 16}}}, work = {0}, ones = {2};
  float *to, set[2] = {2, 1};
  int count = 4, error = cudaMalloc(&to, 16) | cudaMemcpyToSymbol(factors, set, 8, 0, 1) | cudaMemset(to, 0, 16);
  void *graph, *ready, *node[4], *behind[2], *arguments[] = {&taken.of.take.out, &to, &count};
  size_t dependents = 2, nodes;
  error |= cudaGraphCreate(&graph, 0) | cudaGraphAddNode(&node[0], graph, NULL, NULL, 0, &taken);
  ones.of.fill = (struct fill_node){taken.of.take.out, 0, 0x3f800000, 4, 4, 1};
  work.of.kernel = (struct kernel_node){scale, {1, 1, 1}, {32, 1, 1}, 0, arguments, NULL};
  error |= cudaGraphAddNode(&node[1], graph, node, NULL, 1, &ones) | cudaGraphAddNode(&node[2], graph, node + 1, NULL, 1, &work);
  error |= cudaGraphAddMemcpyNode1D(&node[3], graph, node + 2, 1, back, to, 16, 2) | cudaGraphInstantiate(&ready, graph, 0);
  error |= cudaGraphLaunch(ready, NULL) | cudaGraphNodeGetDependentNodes(node[1], behind, NULL, &dependents);
  printf("nodes %d %g %zu %d\n", error, back[3], dependents, behind[0] == node[2]);
  ones.of.fill.value = 0x40000000;
  error = cudaGraphExecNodeSetParams(ready, node[1], &ones) | cudaGraphLaunch(ready, NULL);
  printf("changed %d %g\n", error, back[3]);
  error = cudaGraphRemoveDependencies(graph, node + 1, node + 2, NULL, 1) | cudaGraphDebugDotPrint(graph, getenv("DOT"), 0);
  printf("none %s\n", cudaGetErrorName(cudaGraphRemoveDependencies(graph, node + 1, node + 2, NULL, 1)));
  error |= cudaGraphDestroyNode(node[2]) | cudaGraphGetNodes(graph, NULL, &nodes) | cudaMemset(to, 0, 16);
  error |= cudaGraphInstantiate(&ready, graph, 0) | cudaGraphLaunch(ready, NULL);
  printf("without %d %zu %g\n", error, nodes, back[3]);
}

/* A child graph that fills with 1, then with 2: in the graph that is launched, and in the one it was made from. */
static void part_child(void) {
  int *to, seen[3], error = cudaMalloc(&to, 4);
  void *inner[2], *outer, *ready, *again, *node, *other;
  struct node_parameters child = {4};
  struct fill_node work = {to, 0, 1, 4, 1, 1};
  for (int i = 0; i < 2; i++, work.value++)
    error |= cudaGraphCreate(&inner[i], 0) | cudaGraphAddMemsetNode(&other, inner[i], NULL, 0, &work);
  error |= cudaGraphCreate(&outer, 0) | cudaGraphAddChildGraphNode(&node, outer, NULL, 0, inner[0]);
  error |= cudaGraphInstantiate(&ready, outer, 0);
  child.of.child = inner[1];
  error |= cudaGraphExecNodeSetParams(ready, node, &child) | cudaGraphLaunch(ready, NULL) | cudaMemcpy(seen, to, 4, 2);
  error |= cudaGraphInstantiate(&again, outer, 0) | cudaGraphLaunch(again, NULL) | cudaMemcpy(seen + 1, to, 4, 2);
  error |= cudaGraphNodeSetParams(node, &child) | cudaGraphInstantiate(&again, outer, 0);
  error |= cudaGraphLaunch(again, NULL) | cudaMemcpy(seen + 2, to, 4, 2);
  printf("child %d %d %d %d\n", error, seen[0], seen[1], seen[2]);
  cudaGraphAddEmptyNode(&other, inner[1], NULL, 0);
  printf("differs %s", cudaGetErrorName(cudaGraphExecNodeSetParams(ready, node, &child)));
  child.of.child = outer;
  printf(", itself %s\n", cudaGetErrorName(cudaGraphNodeSetParams(node, &child)));
}

/* Edges and lists, by the calls that CUDA 12 names _v2. */
static void part_lists(void) {
  void *graph, *ready, *stream, *node[3], *made, *from[4], *to[4], *found[4];
  unsigned char data[4][8], *memory;
  size_t edges = 4, room = 1, nodes = 1, dependents = 9, before, after, all;
  struct node_parameters empty = {5}, taken = {10, {0}, {.take = {.bytes = 4096}}};
  int error = cudaGraphCreate(&graph, 0) | cudaGraphAddEmptyNode(&node[0], graph, NULL, 0);
  error |= cudaGraphAddEmptyNode(&node[1], graph, NULL, 0) | cudaGraphAddEmptyNode(&node[2], graph, node, 1);
  error |= cudaGraphAddDependencies_v2(graph, node + 1, node + 2, NULL, 1);
  for (int i = 0; i < 4; i++) from[i] = to[i] = found[i] = node[0];
  printf("twice %s", cudaGetErrorName(cudaGraphAddDependencies_v2(graph, node, node + 2, NULL, 1)));
  printf(" %s", cudaGetErrorName(cudaGraphAddNode_v2(&made, graph, found, NULL, 2, &empty)));
  printf(" %s\n", cudaGetErrorName(cudaGraphAddEmptyNode(&made, graph, found, 2)));
  memset(data, 1, sizeof data);
  error |= cudaGraphGetEdges_v2(graph, from, to, data, &edges);
  int right = from[0] == node[0] && from[1] == node[1] && to[0] == node[2] && to[1] == node[2];
  printf("edges %d %zu %d %d %d %d\n", error, edges, right, from[2] || to[3], data[1][7], data[2][0]);
  error = cudaGraphNodeGetDependencies_v2(node[2], found, NULL, &room) | cudaGraphGetNodes(graph, found + 2, &nodes);
  error |= cudaGraphNodeGetDependentNodes_v2(node[1], NULL, NULL, &dependents);
  printf("room %d %zu %zu %d %zu\n", error, room, nodes, found[1] == node[0] && found[3] == node[0], dependents);
  error = cudaGraphRemoveDependencies_v2(graph, node + 1, node + 2, NULL, 1) | cudaGraphDestroyNode(node[0]);
  error |= cudaGraphInstantiate(&ready, graph, 0) | cudaGraphGetEdges_v2(graph, NULL, NULL, NULL, &edges);
  printf("without %d %zu\n", error, edges);
  found[0] = NULL;
  error = cudaMemGetInfo(&before, &all);
  printf("needs %s", cudaGetErrorName(cudaGraphAddNode_v2(&made, graph, found, NULL, 1, &taken)));
  printf(" %s", cudaGetErrorName(cudaGraphAddMemAllocNode(&made, graph, found, 1, &taken.of.take)));
  error |= cudaMemGetInfo(&after, &all);
  printf(" %d %zu\n", error, before - after);
  error = cudaStreamCreate(&stream) | cudaMalloc(&memory, 4) | cudaStreamBeginCapture(stream, 0);
  error |= cudaMemsetAsync(memory, 1, 4, stream) | cudaStreamUpdateCaptureDependencies_v2(stream, NULL, NULL, 0, 1);
  error |= cudaMemsetAsync(memory, 1, 4, stream) | cudaStreamEndCapture(stream, &graph);
  error |= cudaGraphGetRootNodes(graph, NULL, &nodes);
  printf("roots %d %zu\n", error, nodes);
}

/* An attribute's own bytes alone are written; the priority is that of the stream. */
static void part_attributes(void) {
  void *stream, *other, *graph, *node, *from = NULL;
  char window[64], inside[64];
  int count = 0, set = -3, changed, copied, priority[2] = {7, 7}, policy[2] = {7, 7}, cooperative[2] = {7, 7};
  struct kernel_node work = {scale, {1, 1, 1}, {1, 1, 1}, 0, (void *[]){&from, &from, &count}, NULL};
  memset(window, 'x', sizeof window);
  memset(inside, 'x', sizeof inside);
  int error = cudaStreamCreateWithPriority(&stream, 0, -1) | cudaStreamCreate(&other);
  error |= cudaStreamGetAttribute(stream, 8, priority) | cudaStreamGetAttribute(other, 3, policy);
  error |= cudaStreamSetAttribute(stream, 8, &set) | cudaStreamGetPriority(stream, &changed);
  error |= cudaStreamCopyAttributes(other, stream) | cudaStreamGetPriority(other, &copied);
  printf("stream %d %d %d %d %d %d %d\n", error, priority[0], priority[1], policy[0], policy[1], changed, copied);
  error = cudaStreamGetAttribute(stream, 1, window) | cudaGraphCreate(&graph, 0);
  error |= cudaGraphAddKernelNode(&node, graph, NULL, 0, &work) | cudaGraphKernelNodeGetAttribute(node, 1, inside);
  error |= cudaGraphKernelNodeGetAttribute(node, 2, cooperative);
  printf("bytes %d %d %c %d %c", error, window[31], window[32], inside[31], inside[32]);
  printf(" %d %d %s\n", cooperative[0], cooperative[1], cudaGetErrorName(cudaStreamGetAttribute(stream, 2, window)));
  int one[3] = {1, 1, 1}, two[3] = {2, 1, 1}, large[3] = {65536, 65536, 1}; /* whose product has no low 32 bits */
  printf("clusters %d %s", cudaGraphKernelNodeSetAttribute(node, 4, one), cudaGetErrorName(cudaGraphKernelNodeSetAttribute(node, 4, two)));
  printf(" %s", cudaGetErrorName(cudaGraphKernelNodeSetAttribute(node, 4, large)));
  printf(" %s\n", cudaGetErrorName(cudaGraphKernelNodeCopyAttributes(node, NULL)));
}

static pthread_barrier_t start;

/* Each thread keeps the library busy with memory, launches, captures and graphs of its own. All begin at once, with a
   symbol and a kernel that nothing has touched before. */
static void *work_of_a_thread(void *result) {
  float set[2] = {2, 1};
  pthread_barrier_wait(&start);
  if (cudaMemcpyToSymbol(factors, set, 8, 0, 1)) return *(int *)result = -1, NULL;
  for (int round = 0; round < 6; round++) {
    float host[64], back[64], *from, *to;
    void *stream, *graph, *made;
    for (int i = 0; i < 64; i++) host[i] = i + 100 * *(int *)result;
    int error = cudaMalloc(&from, sizeof host) | cudaMalloc(&to, sizeof host) | cudaStreamCreate(&stream);
    error |= cudaMemcpyAsync(from, host, sizeof host, 1, stream) | cudaMemsetAsync(to, 0, sizeof host, stream);
    error |= cudaStreamBeginCapture(stream, 2) | scaled(from, to, 64, stream) | cudaStreamEndCapture(stream, &graph);
    error |= cudaGraphInstantiate(&made, graph, 0) | cudaGraphLaunch(made, stream);
    error |= cudaMemcpyAsync(back, to, sizeof back, 2, stream) | cudaStreamSynchronize(stream);
    error |= cudaGraphDestroy(graph) | cudaGraphExecDestroy(made);
    error |= cudaStreamDestroy(stream) | cudaFree(from) | cudaFree(to);
    for (int i = 0; i < 64; i++) error |= back[i] != 2 * host[i] + 1;
    if (error) return *(int *)result = -1, NULL;
  }
  return NULL;
}

static void part_threads(void) {
  pthread_t threads[6];
  int results[6], good = 0;
  pthread_barrier_init(&start, NULL, 6);
  for (int i = 0; i < 6; i++) pthread_create(&threads[i], NULL, work_of_a_thread, (results[i] = i, &results[i]));
  for (int i = 0; i < 6; i++) pthread_join(threads[i], NULL), good += results[i] == i;
  printf("threads %d\n", good);
}

static void part_pools(void) {
  void *pool, *usual, *memory, *kept, *stream, *own = malloc(4096);
  unsigned long long bytes = 64, most, of_usual, fresh, after;
  size_t all, now, held, then;
  int ints[2] = {7, 7}, access, device = 9, properties[32] = {1};
  char name[16], attribute[64] = "kept", found[64] = "";
  int error = cudaMemPoolCreate(&pool, properties) | cudaMemPoolSetAttribute(pool, 4, &bytes);
  bytes = 0;
  error |= cudaMemPoolGetAttribute(pool, 4, &bytes) | cudaMemPoolGetAttribute(pool, 1, ints);
  printf("pool %d %llu %d %d\n", error, bytes, ints[0], ints[1]);
  error = cudaMalloc(&kept, 5000) | cudaMemPoolGetAttribute(pool, 7, &fresh) | cudaDeviceGetDefaultMemPool(&usual, 0);
  error |= cudaMallocFromPoolAsync(&memory, 1000, pool, NULL) | cudaMemPoolGetAttribute(pool, 7, &bytes);
  error |= cudaMallocAsync(&kept, 200, NULL) | cudaMemPoolGetAttribute(usual, 7, &of_usual);
  error |= cudaFreeAsync(memory, NULL) | cudaMemPoolGetAttribute(pool, 8, &most) | cudaMemPoolGetAccess(&access, pool, NULL);
  unsigned long long before = bytes;
  error |= cudaMemPoolGetAttribute(pool, 7, &bytes) | cudaMallocFromPoolAsync(&memory, 1000, pool, NULL);
  error |= cudaMemPoolDestroy(pool) | cudaMemPoolCreate(&pool, properties) | cudaFreeAsync(memory, NULL);
  error |= cudaMemPoolGetAttribute(pool, 7, &after); /* memory of a pool that is gone is not this one's */
  printf("used %d %llu %llu %llu %llu %llu %llu", error, fresh, before, bytes, most, of_usual, after);
  printf(" %d %s\n", access, cudaGetErrorName(cudaMemPoolDestroy(usual)));
  error = cudaMemGetInfo(&now, &all) | cudaMalloc(&memory, 3000) | cudaHostRegister(own, 4096, 0) | cudaMemGetInfo(&held, &all);
  error |= cudaFree(memory) | cudaHostUnregister(own) | cudaMemGetInfo(&then, &all);
  printf("free %d %zu %zu\n", error, now - held, now - then);
  error = cudaStreamCreate(&stream) | cudaStreamSetAttribute(stream, 1, attribute) | cudaStreamGetAttribute(stream, 1, found);
  error |= cudaDeviceGetPCIBusId(name, 16, 0) | cudaDeviceGetByPCIBusId(&device, name);
  printf("attribute %d %s %d\n", error, found, device);
  printf("peer %s", cudaGetErrorName(cudaDeviceEnablePeerAccess(0, 0)));
  printf(" %s\n", cudaGetErrorName(cudaDeviceCanAccessPeer(&access, 0, 1)));
}

static void part_assert(void) {
  float *to;
  cudaMalloc(&to, 4);
  launch(checked, 1, 1, (void *[]){&to}, NULL);
  printf("waited %s\n", cudaGetErrorName(cudaDeviceSynchronize()));
}

static void part_outside(void) {
  float *to;
  cudaMalloc(&to, 4);
  cudaGetLastError();
  printf("outside %s\n", cudaGetErrorName(launch(outside, 1, 1, (void *[]){&to}, NULL)));
  printf("last %s\n", cudaGetErrorName(cudaGetLastError()));
  printf("waited %s\n", cudaGetErrorName(cudaDeviceSynchronize()));
  printf("again %s\n", cudaGetErrorName(launch(outside, 1, 1, (void *[]){&to}, NULL)));
  printf("last %s\n", cudaGetErrorName(cudaGetLastError()));
}

int main(int count, char **words) {
  struct { const char *name; void (*run)(void); } parts[] = {
      {"copies", part_copies}, {"shared", part_shared}, {"parameters", part_parameters}, {"images", part_images},
      {"errors", part_errors}, {"device", part_device}, {"outside", part_outside},
      {"graph", part_graph}, {"capture", part_capture}, {"gone", part_gone}, {"nested", part_nested}, {"assert", part_assert},
      {"edit", part_edit}, {"pools", part_pools}, {"child", part_child}, {"lists", part_lists}, {"attributes", part_attributes}, {"threads", part_threads}};
  for (int i = 1; i < count; i++) {
    if (!strncmp(words[i], "exit", 4)) return atoi(words[i] + 4);
    if (!strcmp(words[i], "abort")) abort();
    for (unsigned k = 0; k < sizeof parts / sizeof *parts; k++)
      if (!strcmp(parts[k].name, words[i])) parts[k].run();
  }
  return cudaDeviceSynchronize();
}
