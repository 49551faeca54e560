// The end of a network: fully connected layers and softmax.
#pragma once

// output[image][unit] = bias[unit] + sum of input[image][i] * weights[i][unit]. A CTA makes 32 units; 8 threads a unit
// add every eighth product and then their sums. ``bias`` may be null.
// block (32, 8); grid (units / 32 rounded up, images).
extern "C" __global__ void dense(const float *input, const float *weights, const float *bias, float *output,
                                 unsigned inputs, unsigned units) {
    __shared__ float partial[8][32];
    unsigned unit = blockIdx.x * 32 + threadIdx.x;
    const float *values = input + blockIdx.y * inputs;
    float sum = 0.0f;
    if (unit < units)
        for (unsigned i = threadIdx.y; i < inputs; i += 8) sum += values[i] * weights[i * units + unit];
    partial[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y > 0 || unit >= units) return;
    for (unsigned row = 1; row < 8; ++row) sum += partial[row][threadIdx.x];
    output[blockIdx.y * units + unit] = sum + (bias ? bias[unit] : 0.0f);
}

// output[image] = exp(input[image] - its maximum) / their sum. block (256); grid (images).
template <typename Join> __device__ float over_cta(float value, float *scratch, Join join) {
    scratch[threadIdx.x] = value;
    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) scratch[threadIdx.x] = join(scratch[threadIdx.x], scratch[threadIdx.x + half]);
    }
    __syncthreads();
    float joined = scratch[0];
    __syncthreads();  // the scratch may be written again
    return joined;
}

extern "C" __global__ void softmax(const float *input, float *output, unsigned classes) {
    __shared__ float scratch[256];
    const float *values = input + blockIdx.x * classes;
    float *result = output + blockIdx.x * classes;
    float largest = -INFINITY, sum = 0.0f;
    for (unsigned i = threadIdx.x; i < classes; i += blockDim.x) largest = fmaxf(largest, values[i]);
    largest = over_cta(largest, scratch, [](float a, float b) { return fmaxf(a, b); });
    for (unsigned i = threadIdx.x; i < classes; i += blockDim.x) sum += expf(values[i] - largest);
    sum = over_cta(sum, scratch, [](float a, float b) { return a + b; });
    for (unsigned i = threadIdx.x; i < classes; i += blockDim.x) result[i] = expf(values[i] - largest) / sum;
}
