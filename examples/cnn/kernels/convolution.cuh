// Convolutions of a batch of images; blockIdx.z is the image. ``bias`` may be null.
#pragma once
#include "shapes.cuh"

// A thread makes one output value. A warp makes 32 filters of one pixel, so that its reads of the weights coalesce.
// block (32, 8): 32 filters x 8 pixels; grid (filters / 32, output pixels / 8, images), rounded up.
extern "C" __global__ void convolution_direct(const float *input, const float *weights, const float *bias,
                                              float *output, Window w) {
    unsigned filter = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned pixel = blockIdx.y * blockDim.y + threadIdx.y;
    if (filter >= w.filters || pixel >= w.out_pixels()) return;
    const float *image = input + blockIdx.z * w.pixels() * w.channels;
    unsigned out_y = pixel / w.out_width, out_x = pixel % w.out_width;
    float sum = bias ? bias[filter] : 0.0f;
    for (unsigned dy = 0; dy < w.window_height; ++dy) {
        unsigned y = w.row(out_y, dy);
        if (y >= w.height) continue;
        for (unsigned dx = 0; dx < w.window_width; ++dx) {
            unsigned x = w.column(out_x, dx);
            if (x >= w.width) continue;
            const float *from = image + (y * w.width + x) * w.channels;
            const float *by = weights + (dy * w.window_width + dx) * w.channels * w.filters + filter;
            for (unsigned c = 0; c < w.channels; ++c) sum += from[c] * by[c * w.filters];
        }
    }
    output[(blockIdx.z * w.out_pixels() + pixel) * w.filters + filter] = sum;
}

// The same as a matrix product: output[pixel][filter] = sum over (window, channel) of patch[pixel][..] * weights[..][filter],
// whose left matrix is never made. A CTA makes a tile of PIXELS x FILTERS from tiles of CHANNELS that it brings to
// shared memory for one place of the window after the other; a thread makes 4 x 4 values in registers.
// block (16, 16); grid (output pixels / PIXELS, filters / FILTERS, images), rounded up.
constexpr unsigned PIXELS = 64, FILTERS = 64, CHANNELS = 16, EACH = 4, THREADS = 256;

extern "C" __global__ void convolution_implicit_gemm(const float *input, const float *weights, const float *bias,
                                                     float *output, Window w) {
    __shared__ float patch[CHANNELS][PIXELS + 1];  // a column more: stores of neighbouring channels miss each other's bank
    __shared__ float weight[CHANNELS][FILTERS];
    unsigned thread = threadIdx.y * blockDim.x + threadIdx.x;
    unsigned first_pixel = blockIdx.x * PIXELS, first_filter = blockIdx.y * FILTERS;
    const float *image = input + blockIdx.z * w.pixels() * w.channels;
    unsigned load_channel = thread % CHANNELS, load_pixel = thread / CHANNELS;
    unsigned load_filter = thread % FILTERS, load_row = thread / FILTERS;
    bool has_filter = first_filter + load_filter < w.filters;
    unsigned out_y[EACH], out_x[EACH];
    for (unsigned i = 0; i < EACH; ++i) {
        unsigned pixel = first_pixel + load_pixel + i * (THREADS / CHANNELS);
        out_y[i] = pixel / w.out_width;
        out_x[i] = pixel % w.out_width;
    }
    float sum[EACH][EACH] = {};
    for (unsigned place = 0; place < w.window_height * w.window_width; ++place) {
        unsigned dy = place / w.window_width, dx = place % w.window_width;
        const float *from[EACH];
        bool is_inside[EACH];
        for (unsigned i = 0; i < EACH; ++i) {
            unsigned y = w.row(out_y[i], dy), x = w.column(out_x[i], dx);
            is_inside[i] = out_y[i] < w.out_height && y < w.height && x < w.width;
            from[i] = image + (y * w.width + x) * w.channels;
        }
        for (unsigned first = 0; first < w.channels; first += CHANNELS) {
            unsigned channel = first + load_channel;
            for (unsigned i = 0; i < EACH; ++i)
                patch[load_channel][load_pixel + i * (THREADS / CHANNELS)] =
                    is_inside[i] && channel < w.channels ? from[i][channel] : 0.0f;
            for (unsigned i = 0; i < EACH; ++i) {
                unsigned row = load_row + i * (THREADS / FILTERS), at = first + row;
                weight[row][load_filter] =
                    has_filter && at < w.channels
                        ? weights[(place * w.channels + at) * w.filters + first_filter + load_filter]
                        : 0.0f;
            }
            __syncthreads();
#pragma unroll
            for (unsigned k = 0; k < CHANNELS; ++k)
                for (unsigned i = 0; i < EACH; ++i)
                    for (unsigned j = 0; j < EACH; ++j)
                        sum[i][j] += patch[k][threadIdx.y * EACH + i] * weight[k][threadIdx.x * EACH + j];
            __syncthreads();  // nobody may still read the tiles when the next ones arrive
        }
    }
    for (unsigned i = 0; i < EACH; ++i) {
        unsigned pixel = first_pixel + threadIdx.y * EACH + i;
        if (pixel >= w.out_pixels()) return;
        for (unsigned j = 0; j < EACH; ++j) {
            unsigned filter = first_filter + threadIdx.x * EACH + j;
            if (filter < w.filters)
                output[(blockIdx.z * w.out_pixels() + pixel) * w.filters + filter] =
                    sum[i][j] + (bias ? bias[filter] : 0.0f);
        }
    }
}

// Every channel has its own window, weights [window y][window x][channel].
// block (32, 8): 32 channels x 8 pixels; grid (channels / 32, output pixels / 8, images), rounded up.
extern "C" __global__ void convolution_depthwise(const float *input, const float *weights, const float *bias,
                                                 float *output, Window w) {
    unsigned channel = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned pixel = blockIdx.y * blockDim.y + threadIdx.y;
    if (channel >= w.channels || pixel >= w.out_pixels()) return;
    const float *image = input + blockIdx.z * w.pixels() * w.channels;
    unsigned out_y = pixel / w.out_width, out_x = pixel % w.out_width;
    float sum = bias ? bias[channel] : 0.0f;
    for (unsigned dy = 0; dy < w.window_height; ++dy) {
        unsigned y = w.row(out_y, dy);
        if (y >= w.height) continue;
        for (unsigned dx = 0; dx < w.window_width; ++dx) {
            unsigned x = w.column(out_x, dx);
            if (x >= w.width) continue;
            sum += image[(y * w.width + x) * w.channels + channel] *
                   weights[(dy * w.window_width + dx) * w.channels + channel];
        }
    }
    output[(blockIdx.z * w.out_pixels() + pixel) * w.channels + channel] = sum;
}
