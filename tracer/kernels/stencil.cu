// One Jacobi step of the heat equation: a cell moves towards the mean of its four neighbours by the factor rate.
// Cells of the edge keep their value.
extern "C" __global__ void stencil(const float *from, float *to, unsigned width, unsigned height, float rate) {
    unsigned x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    unsigned cell = y * width + x;
    float value = from[cell];
    if (x > 0 && y > 0 && x + 1 < width && y + 1 < height) {
        float mean = 0.25f * (from[cell - 1] + from[cell + 1] + from[cell - width] + from[cell + width]);
        value += rate * (mean - value);
    }
    to[cell] = value;
}
