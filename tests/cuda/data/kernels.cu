// nvcc -ptx -arch=compute_75 kernels.cu: kernels of the host program host.c.
#include <cassert>
#include <cstdio>

extern "C" {
__constant__ float factors[2];
__device__ unsigned counter;
__managed__ int managed = 7;

__global__ void scale(const float *from, float *to, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    to[i] = factors[0] * from[i] + factors[1];
    atomicAdd(&counter, 1u);
    if (i == 5) printf("thread %d: %g\n", i, to[i]);
    if (i == 0) managed += 1;
}

struct pair { short a; double b; };

__global__ void sum(double *to, struct pair given, char small) { to[0] = given.a + given.b + small; }

__global__ void lookup(cudaTextureObject_t texture, float *to, int width) {
    int i = threadIdx.x;
    to[i] = tex2D<float>(texture, i % width + 0.5f, i / width + 0.5f);
}

__global__ void fill(cudaSurfaceObject_t surface, int width) {
    int i = threadIdx.x;
    surf2Dwrite((float)i, surface, 4 * (i % width), i / width);
}

__global__ void checked(float *to) {
    printf("checked %g\n", to[threadIdx.x]);
    assert(to[threadIdx.x] == 1);
}

__global__ void outside(float *to) { to[threadIdx.x + 1024] = 1; }
}
