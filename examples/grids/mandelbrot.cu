// How long a point stays within 2 of the origin under z -> z * z + c, for every pixel of a square of the plane.
extern "C" __global__ void mandelbrot(unsigned *rounds, unsigned side, float left, float top, float step,
                                      unsigned limit) {
    unsigned x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= side || y >= side) return;
    float cr = left + step * x, ci = top - step * y, zr = 0.0f, zi = 0.0f;
    unsigned count = 0;
    while (count < limit && zr * zr + zi * zi <= 4.0f) {
        float next = zr * zr - zi * zi + cr;
        zi = 2.0f * zr * zi + ci;
        zr = next;
        count++;
    }
    rounds[y * side + x] = count;
}
