// Kernels of CNN inference, float32:  nvcc -ptx -arch=compute_75 -O3 -std=c++17 kernels.cu -o kernels.ptx
#include "convolution.cuh"
#include "dense.cuh"
#include "elementwise.cuh"
#include "pooling.cuh"
