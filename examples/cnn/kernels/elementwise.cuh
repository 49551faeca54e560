// One thread per value: normalisation, activation, sums, gates and copies. block (256), grid (count / 256 rounded up).
#pragma once
#include "activations.cuh"

__device__ inline unsigned global_thread() { return blockIdx.x * blockDim.x + threadIdx.x; }

// output = activation((input - mean) / sqrt(variance + epsilon) * gamma + beta) per channel; ``gamma`` may be null.
template <typename Activation>
__device__ void batch_norm(const float *input, const float *gamma, const float *beta, const float *mean,
                           const float *variance, float epsilon, float *output, unsigned count, unsigned channels) {
    unsigned at = global_thread();
    if (at >= count) return;
    unsigned channel = at % channels;
    float scale = 1.0f / sqrtf(variance[channel] + epsilon);
    if (gamma) scale *= gamma[channel];
    output[at] = Activation::of((input[at] - mean[channel]) * scale + beta[channel]);
}

template <typename Activation> __device__ void activation(const float *input, float *output, unsigned count) {
    unsigned at = global_thread();
    if (at < count) output[at] = Activation::of(input[at]);
}

template <typename Activation>
__device__ void add(const float *left, const float *right, float *output, unsigned count) {
    unsigned at = global_thread();
    if (at < count) output[at] = Activation::of(left[at] + right[at]);
}

// Kernels NAME_linear, NAME_relu, ...: only those that networks use.
#define BATCH_NORM(name, Activation)                                                                                   \
    extern "C" __global__ void batch_norm_##name(const float *input, const float *gamma, const float *beta,            \
                                                 const float *mean, const float *variance, float epsilon,              \
                                                 float *output, unsigned count, unsigned channels) {                   \
        batch_norm<Activation>(input, gamma, beta, mean, variance, epsilon, output, count, channels);                  \
    }
#define ACTIVATION(name, Activation)                                                                                   \
    extern "C" __global__ void activation_##name(const float *input, float *output, unsigned count) {                  \
        activation<Activation>(input, output, count);                                                                  \
    }
#define ADD(name, Activation)                                                                                          \
    extern "C" __global__ void add_##name(const float *left, const float *right, float *output, unsigned count) {      \
        add<Activation>(left, right, output, count);                                                                   \
    }
BATCH_NORM(linear, Linear)
BATCH_NORM(relu, Relu)
BATCH_NORM(relu6, Relu6)
BATCH_NORM(sigmoid, Sigmoid)
BATCH_NORM(swish, Swish)
ACTIVATION(relu, Relu)
ACTIVATION(relu6, Relu6)
ACTIVATION(sigmoid, Sigmoid)
ACTIVATION(swish, Swish)
ADD(linear, Linear)
ADD(relu, Relu)
ADD(relu6, Relu6)
ADD(sigmoid, Sigmoid)
ADD(swish, Swish)

// Squeeze and excite: every channel of every image times its gate, gates [image][channel].
extern "C" __global__ void scale_channels(const float *input, const float *gates, float *output, unsigned count,
                                          unsigned pixels, unsigned channels) {
    unsigned at = global_thread();
    if (at >= count) return;
    unsigned image = at / (pixels * channels), channel = at % channels;
    output[at] = input[at] * gates[image * channels + channel];
}

// A part of a concatenation: the channels of ``input`` become channels ``first`` and following of ``output``.
extern "C" __global__ void copy_channels(const float *input, float *output, unsigned count, unsigned channels,
                                         unsigned out_channels, unsigned first) {
    unsigned at = global_thread();
    if (at >= count) return;
    unsigned pixel = at / channels, channel = at % channels;
    output[pixel * out_channels + first + channel] = input[at];
}
