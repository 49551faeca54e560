// Small kernels whose SASS has what real listings have: jump tables, calls, recursion, slow paths, early exits, shared
// memory, warp operations, atomics, textures, matrix units, half precision. make.sh compiles and lists them.
#include <cuda_fp16.h>
#include <mma.h>

extern "C" __global__ void table(int *a, int n) {
    int x = a[threadIdx.x];
    switch (n) {
        case 0: x = __popc(x) * 3; break;
        case 1: x ^= 0x55; break;
        case 2: x = __brev(x); break;
        case 3: x = x / 7; break;
        case 4: x = a[x]; break;
        case 5: x = __clz(x); break;
        case 6: x = x * x + n; break;
        case 7: x = min(x, 5) * a[9]; break;
        case 8: x = -x & n; break;
    }
    a[threadIdx.x] = x;
}

__device__ __noinline__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

extern "C" __global__ void recursion(int *a, int n) { a[threadIdx.x] = fibonacci(n + threadIdx.x); }

extern "C" __global__ void division(double *a, double b, float *c) {
    int i = threadIdx.x;
    a[i] = a[i] / b;
    c[i] = c[i] / float(b);
}

extern "C" __global__ void nested(int *a, int n) {
    int x = threadIdx.x;
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < i; j++) {
            if (a[j] == x) break;
            if (a[j] < 0) { x++; continue; }
            x += a[i];
            if (x > 1000) goto done;
        }
        if (x & 1) {
            x *= 3;
            if (x > 77) return;
        } else
            x /= 2;
    }
done:
    a[threadIdx.x] = x;
}

extern "C" __global__ void reduce(float *a, int n) {
    __shared__ float s[128];
    int t = threadIdx.x;
    s[t] = a[t];
    __syncthreads();
    for (int i = 64; i > 16; i >>= 1) {
        if (t < i) s[t] += s[t + i];
        __syncthreads();
    }
    float v = s[t];
    for (int o = 16; o; o >>= 1) v += __shfl_xor_sync(~0u, v, o);
    if (__any_sync(~0u, v > 3.0f)) a[t + 1] = v;
    if (t == 0) a[n] = v;
}

extern "C" __global__ void atomics(int *a, float *f, double *d, unsigned long long *u) {
    int x = threadIdx.x;
    int r = atomicCAS(a, x, 3);
    r += atomicMax(a + 2, r);
    double g = atomicAdd(d, double(atomicAdd(f, float(r))));
    u[4] = atomicCAS(u, 3ull, x);
    __shared__ int s[8];
    s[x & 7] = x;
    __syncthreads();
    r += atomicAdd(s + (r & 7), r);
    __threadfence();
    d[3] = g * r;
}

extern "C" __global__ void textures(cudaTextureObject_t t, cudaSurfaceObject_t s, float4 *o, float l) {
    int x = threadIdx.x, y = threadIdx.y;
    float4 v = tex2D<float4>(t, x + 0.5f, y * 0.3f);
    v.x += tex1Dfetch<float>(t, x) + tex2DLayered<float>(t, x, y, 3);
    v.y += tex3D<float>(t, x, y, l) + tex2DLod<float>(t, x, y, l);
    surf2Dwrite(v.x, s, x * 4, y);
    o[x] = v;
}

extern "C" __global__ void matrix(half *a, half *b, float *c) {
    using namespace nvcuda::wmma;
    fragment<matrix_a, 16, 16, 16, half, row_major> A;
    fragment<matrix_b, 16, 16, 16, half, col_major> B;
    fragment<accumulator, 16, 16, 16, float> C;
    fill_fragment(C, 0.0f);
    load_matrix_sync(A, a, 16);
    load_matrix_sync(B, b, 16);
    mma_sync(C, A, B, C);
    store_matrix_sync(c, C, 16, mem_row_major);
}

extern "C" __global__ void half_precision(half2 *a, double *d, long long *l) {
    int i = threadIdx.x;
    half2 x = __hfma2(a[i], a[i + 1], a[i]);
    if (__hbgt2(x, a[3])) x = h2sqrt(x);
    a[i] = __hmul2(x, __hneg2(x));
    l[i] = (long long)(d[i]) + __mul64hi(l[1], l[2]) + (long long)clock64();
    d[i] = double(l[i + 1]) + floor(d[3]);
}

extern "C" __global__ void local(int *a, int n) {
    int b[16];
    for (int i = 0; i < 16; i += 4) *(int4 *)(b + i) = *(int4 *)(a + i);
    for (int i = 0; i < n; i++) b[a[i] & 15] += b[i & 15];
    a[n] = b[n & 15];
}
