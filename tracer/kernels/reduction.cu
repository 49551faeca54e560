// partial[CTA] = sum of the values that the CTA's threads meet in a grid-stride loop. Launched a second time with one
// CTA on the partial sums, it gives the total. blockDim.x must be a multiple of 32, at most 1024.
constexpr unsigned LANES = 32;
constexpr unsigned EVERY_LANE = 0xffffffffu;

static __device__ float warp_sum(float value) {
    for (unsigned distance = LANES / 2; distance > 0; distance /= 2) {
        value += __shfl_down_sync(EVERY_LANE, value, distance);
    }
    return value;  // in lane 0
}

extern "C" __global__ void reduction(const float *values, float *partial, unsigned count) {
    __shared__ float warp_sums[LANES];
    float sum = 0.0f;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) sum += values[i];
    sum = warp_sum(sum);
    unsigned lane = threadIdx.x % LANES, warp = threadIdx.x / LANES;
    if (lane == 0) warp_sums[warp] = sum;
    __syncthreads();
    if (warp == 0) {
        sum = warp_sum(lane < blockDim.x / LANES ? warp_sums[lane] : 0.0f);
        if (lane == 0) partial[blockIdx.x] = sum;
    }
}
