// What launch files can say besides grid, block and buffers: a constant, a structure as parameter, dynamic shared
// memory, a largest CTA, and a flag for a repeat. Each CTA mirrors its values.
struct Pair {
    unsigned short low;
    unsigned high;
};
__constant__ unsigned factor;

extern "C" __global__ void __launch_bounds__(64) scale(unsigned *values, unsigned count, Pair add, unsigned *flag) {
    extern __shared__ unsigned staged[];
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    staged[threadIdx.x] = i < count ? values[i] : 0;
    __syncthreads();
    unsigned mirrored = staged[blockDim.x - 1 - threadIdx.x];
    if (i < count) values[i] = mirrored * factor + add.low + add.high;
    if (i == 0) flag[0] -= 1;
}
