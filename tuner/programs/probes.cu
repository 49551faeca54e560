// Programs that measure a GPU: the latency of a load, the delay between loads of warps, and the issue of instructions
// (Hong and Kim 5.2; Ganestam and Doggett 3.1). Each runs the same instructions `steps` times.

// Each load waits for the one before it: next[i] is where to go on.
extern "C" __global__ void chase(const unsigned* next, unsigned* out, int steps) {
    unsigned at = threadIdx.x;
#pragma unroll 1
    for (int step = 0; step < steps; ++step) at = next[at];
    out[threadIdx.x] = at;
}

// Loads that do not wait for each other, in this order: `lane_stride` words apart between lanes, a warp's next loads behind them.
extern "C" __global__ void gather(const unsigned* words, unsigned* out, int steps, int lane_stride) {
    const int thread = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
    const unsigned* at = words + thread * lane_stride;
    unsigned sum = 0;
#pragma unroll 1
    for (int step = 0; step < steps; step += 8) {
        unsigned loaded[8];
#pragma unroll
        for (int index = 0; index < 8; ++index) {
            asm volatile("ld.global.u32 %0, [%1];" : "=r"(loaded[index]) : "l"(at + index * threads * lane_stride));
        }
#pragma unroll
        for (int index = 0; index < 8; ++index) sum += loaded[index];
        at += 8 * threads * lane_stride;
    }
    out[thread] = sum;
}

// Arithmetic alone, each instruction behind the one before it.
extern "C" __global__ void depend(float* out, int steps, float factor) {
    float chain = threadIdx.x;
#pragma unroll 1
    for (int step = 0; step < steps; ++step) {
#pragma unroll
        for (int index = 0; index < 8; ++index) chain = chain * factor + 1.0f;
    }
    out[threadIdx.x] = chain;
}

// Arithmetic alone: eight chains, so that no instruction waits for the one before it.
extern "C" __global__ void issue(float* out, int steps, float factor) {
    float chain[8];
#pragma unroll
    for (int index = 0; index < 8; ++index) chain[index] = threadIdx.x + index;
#pragma unroll 1
    for (int step = 0; step < steps; ++step) {
#pragma unroll
        for (int index = 0; index < 8; ++index) chain[index] = chain[index] * factor + 1.0f;
    }
    float sum = 0.0f;
#pragma unroll
    for (int index = 0; index < 8; ++index) sum += chain[index];
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
