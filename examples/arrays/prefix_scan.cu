// Inclusive prefix sums: within warps by shuffles, within CTAs by the sums of warps, then the sums of CTAs are scanned
// by one CTA and added.
constexpr unsigned LANES = 32;
constexpr unsigned EVERY_LANE = 0xffffffffu;

static __device__ unsigned warp_scan(unsigned value) {
    unsigned lane = threadIdx.x % LANES;
    for (unsigned distance = 1; distance < LANES; distance *= 2) {
        unsigned before = __shfl_up_sync(EVERY_LANE, value, distance);
        if (lane >= distance) value += before;
    }
    return value;
}

static __device__ unsigned cta_scan(unsigned value, unsigned *sums) {
    unsigned lane = threadIdx.x % LANES, warp = threadIdx.x / LANES;
    value = warp_scan(value);
    if (lane == LANES - 1) sums[warp] = value;
    __syncthreads();
    if (warp == 0) sums[lane] = warp_scan(lane < blockDim.x / LANES ? sums[lane] : 0);
    __syncthreads();
    return warp > 0 ? value + sums[warp - 1] : value;
}

extern "C" __global__ void scan_tiles(const unsigned *values, unsigned *sums, unsigned *totals, unsigned count) {
    __shared__ unsigned warp_sums[LANES];
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned sum = cta_scan(i < count ? values[i] : 0, warp_sums);
    if (i < count) sums[i] = sum;
    if (threadIdx.x == blockDim.x - 1) totals[blockIdx.x] = sum;
}

extern "C" __global__ void scan_totals(unsigned *totals, unsigned count) {
    __shared__ unsigned warp_sums[LANES];
    unsigned sum = cta_scan(threadIdx.x < count ? totals[threadIdx.x] : 0, warp_sums);
    if (threadIdx.x < count) totals[threadIdx.x] = sum;
}

extern "C" __global__ void add_totals(unsigned *sums, const unsigned *totals, unsigned count) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count && blockIdx.x > 0) sums[i] += totals[blockIdx.x - 1];
}
