// What nvcc makes of ordinary kernels. compute.ptx: nvcc -ptx -arch=sm_75 -lineinfo compute.cu -o compute.ptx
// compute_debug.ptx: nvcc -ptx -arch=sm_75 -G compute.cu -o compute_debug.ptx
// compute_plain.ptx: nvcc -ptx -arch=sm_75 compute.cu -o compute_plain.ptx
#include <cstdio>

__constant__ float table[8] = {1.0f, 2.5f, -3.0f};
__device__ int lookup[4] = {7, -1, 0x7fffffff, 0};
__device__ int* pointer = lookup + 2;
__device__ double total;

struct Pair { double first; float second[3]; };

extern "C" __global__ void loop_and_shared(const float* in, float* out, int n) {
    extern __shared__ float tile[];
    float sum = 0.0f;
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        if (in[i] > 0.5f) sum += in[i] * table[i & 7];
        else if (in[i] < -0.5f) sum -= sqrtf(in[i]);
    }
    tile[threadIdx.x] = sum;
    __syncthreads();
    for (int stride = blockDim.x / 2; stride > 0; stride >>= 1) {
        if (threadIdx.x < stride) tile[threadIdx.x] += tile[threadIdx.x + stride];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = tile[0];
}

extern "C" __global__ void shuffles_and_atomics(int* data, unsigned* histogram, double* sum) {
    int value = data[threadIdx.x];
    for (int offset = 16; offset; offset >>= 1) value += __shfl_down_sync(~0u, value, offset);
    unsigned vote = __ballot_sync(~0u, value > 3);
    if (__any_sync(~0u, value == 9)) value ^= __popc(vote) + __clz(value) + __brev(value);
    atomicAdd(&histogram[value & 255], 1u);
    atomicMax(&data[3], value);
    data[threadIdx.x] = atomicCAS(&data[0], value, __ffs(value));
    atomicAdd(sum, (double)value);
}

__device__ __noinline__ float callee(float a, int b, Pair p) { return a * b + (float)p.first + p.second[b & 1]; }

extern "C" __global__ void calls(float* data, int b, Pair p) {
    data[threadIdx.x] = callee(data[threadIdx.x], b, p);
    data[threadIdx.x + 1] = callee(data[threadIdx.x + 2], b + 1, p);
    if (data[0] > 10.0f) printf("%f at %d\n", data[0], b);
}

__device__ float one(float x) { return x + 1.0f; }
__device__ float two(float x) { return x * 2.0f; }
__device__ float (*functions[2])(float) = {one, two};

extern "C" __global__ void indirect(float* data, int which) { data[threadIdx.x] = functions[which](data[threadIdx.x]); }

extern "C" __global__ void choices(int* data, int which) {
    int value = data[threadIdx.x];
    switch (which + (value & 7)) {
        case 0: value = value / 3; break;
        case 1: value = value % 7; break;
        case 2: value *= value; break;
        case 3: value = __mulhi(value, 77777); break;
        case 4: value = __byte_perm(value, 5, 0x3210); break;
        case 5: return;
        case 6: value = min(value, 9); break;
        default: value = -value;
    }
    data[threadIdx.x] = value;
}

extern "C" __global__ void doubles(double* a, long long* b, double x) {
    double value = a[threadIdx.x];
    while (value > x) value = fma(value, 0.5, -1.0e-3) / (1.0 + value * value);
    a[threadIdx.x] = sin(value) + rsqrt(value);
    b[threadIdx.x] = (long long)value / (b[0] | 1);
}

extern "C" __global__ void local_and_vectors(float4* data, int i, int j) {
    float scratch[16];
    for (int k = 0; k < 16; k++) scratch[k] = data[k].x * k;
    float4 v = data[threadIdx.x];
    v.x = scratch[i & 15]; v.y = scratch[j & 15]; v.z = __expf(v.z); v.w = __fdividef(v.w, v.x);
    data[threadIdx.x] = v;
}

extern "C" __global__ void inline_assembly(int* data) {
    int value = data[threadIdx.x];
    for (int i = 0; i < 2; i++)
        asm volatile("{\n\t.reg .pred p;\n\t.reg .b32 t;\n\tsetp.gt.s32 p, %0, 5;\n\t@p bra SKIP;\n\t"
                     "add.s32 t, %0, 1; mov.b32 %0, t;\n\tSKIP:\n\t}" : "+r"(value));
    asm volatile("{\n\t.reg .pred p;\n\tsetp.lt.s32 p, %0, 50;\n\t@!p bra SKIP;\n\tshl.b32 %0, %0, 1;\n\tSKIP:\n\t}" : "+r"(value));
    data[threadIdx.x] = value + (int)clock64() * 0;
}

extern "C" __global__ __launch_bounds__(128, 2) void textures(cudaTextureObject_t texture, float4* out, float u) {
    float4 a = tex2D<float4>(texture, u, 0.25f * threadIdx.x);
    int1 b = tex1Dfetch<int1>(texture, threadIdx.x);
    out[threadIdx.x] = make_float4(a.x, a.y, a.z, (float)b.x);
}
