// sum[i] = left[i] + right[i], one element per thread; the last CTA is partly outside.
extern "C" __global__ void vector_add(const float *left, const float *right, float *sum, unsigned count) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) sum[i] = left[i] + right[i];
}
