// Textures and surfaces through CUDA's objects, for tests/tracer/test_compiled_units.py.
// nvcc -ptx -arch=compute_75 images.cu
#include <cuda_runtime.h>

extern "C" __global__ void rotate(cudaTextureObject_t image, float *out, int width, int height, float angle) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    float u = x / (float)width - 0.5f, v = y / (float)height - 0.5f;
    float c = cosf(angle), s = sinf(angle);
    out[y * width + x] = tex2D<float>(image, u * c - v * s + 0.5f, v * c + u * s + 0.5f);
}

extern "C" __global__ void gather_list(cudaTextureObject_t table, const int *index, float4 *out, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        out[i] = tex1Dfetch<float4>(table, index[i]);
}

extern "C" __global__ void volume(cudaTextureObject_t field, cudaTextureObject_t layers, float4 *out) {
    int i = threadIdx.x;
    float a = tex3D<float>(field, i * 0.1f, i * 0.07f, i * 0.03f);
    uchar4 b = tex2DLayered<uchar4>(layers, i % 8 + 0.5f, i / 8 + 0.5f, i % 3);
    out[i] = make_float4(a, b.x + 256.0f * b.y, b.z, b.w);
}

extern "C" __global__ void invert(cudaSurfaceObject_t image, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    uchar4 p = surf2Dread<uchar4>(image, x * 4, y);
    surf2Dwrite(make_uchar4(255 - p.x, 255 - p.y, 255 - p.z, p.w), image, x * 4, y, cudaBoundaryModeZero);
}
