// Pooling over a window, or over the whole image; blockIdx.z is the image.
#pragma once
#include "shapes.cuh"

struct Maximum {
    static constexpr float START = -INFINITY;
    __device__ static float join(float a, float b) { return fmaxf(a, b); }
    __device__ static float finish(float value, unsigned) { return value; }
};
struct Average {
    static constexpr float START = 0.0f;
    __device__ static float join(float a, float b) { return a + b; }
    __device__ static float finish(float sum, unsigned count) { return sum / float(count); }
};

// Only pixels of the image count, never its padding. A thread makes one output value.
template <typename Kind> __device__ void pool(const float *input, float *output, const Window &w) {
    unsigned channel = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned pixel = blockIdx.y * blockDim.y + threadIdx.y;
    if (channel >= w.channels || pixel >= w.out_pixels()) return;
    const float *image = input + blockIdx.z * w.pixels() * w.channels;
    unsigned out_y = pixel / w.out_width, out_x = pixel % w.out_width;
    float value = Kind::START;
    unsigned count = 0;
    for (unsigned dy = 0; dy < w.window_height; ++dy) {
        unsigned y = w.row(out_y, dy);
        if (y >= w.height) continue;
        for (unsigned dx = 0; dx < w.window_width; ++dx) {
            unsigned x = w.column(out_x, dx);
            if (x >= w.width) continue;
            value = Kind::join(value, image[(y * w.width + x) * w.channels + channel]);
            ++count;
        }
    }
    output[(blockIdx.z * w.out_pixels() + pixel) * w.channels + channel] = Kind::finish(value, count);
}

// block (32, 8): 32 channels x 8 pixels; grid (channels / 32, output pixels / 8, images), rounded up.
extern "C" __global__ void pool_maximum(const float *input, float *output, Window w) {
    pool<Maximum>(input, output, w);
}
extern "C" __global__ void pool_average(const float *input, float *output, Window w) {
    pool<Average>(input, output, w);
}

// The mean of each channel: 8 threads a channel add every eighth pixel and then their sums.
// block (32, 8); grid (channels / 32 rounded up, 1, images).
extern "C" __global__ void pool_global_average(const float *input, float *output, unsigned pixels,
                                               unsigned channels) {
    __shared__ float partial[8][32];
    unsigned channel = blockIdx.x * 32 + threadIdx.x;
    const float *image = input + blockIdx.z * pixels * channels;
    float sum = 0.0f;
    if (channel < channels)
        for (unsigned pixel = threadIdx.y; pixel < pixels; pixel += 8) sum += image[pixel * channels + channel];
    partial[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y > 0 || channel >= channels) return;
    for (unsigned row = 1; row < 8; ++row) sum += partial[row][threadIdx.x];
    output[blockIdx.z * channels + channel] = sum / float(pixels);
}
