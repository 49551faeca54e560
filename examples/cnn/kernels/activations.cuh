// Activation functions. None of them branches on its argument.
#pragma once

struct Linear {
    __device__ static float of(float x) { return x; }
};
struct Relu {
    __device__ static float of(float x) { return fmaxf(x, 0.0f); }
};
struct Relu6 {
    __device__ static float of(float x) { return fminf(fmaxf(x, 0.0f), 6.0f); }
};
struct Sigmoid {
    __device__ static float of(float x) { return 1.0f / (1.0f + expf(-x)); }
};
struct Swish {
    __device__ static float of(float x) { return x * Sigmoid::of(x); }
};
