// Counts of 256 values: each CTA counts in shared memory and adds its counts to the whole, with atomics.
constexpr unsigned BINS = 256;

extern "C" __global__ void histogram(const unsigned char *values, unsigned *counts, unsigned count) {
    __shared__ unsigned own[BINS];
    for (unsigned bin = threadIdx.x; bin < BINS; bin += blockDim.x) own[bin] = 0;
    __syncthreads();
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
        atomicAdd(&own[values[i]], 1u);
    }
    __syncthreads();
    for (unsigned bin = threadIdx.x; bin < BINS; bin += blockDim.x) {
        if (own[bin] > 0) atomicAdd(&counts[bin], own[bin]);
    }
}
