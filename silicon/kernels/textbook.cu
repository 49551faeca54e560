// Six kernels that textbooks begin with, in the shapes of published measurements: one thread an output, n x n, row-major.
// Names and shapes: docs/sources/measurements.md. Written for this project.

#define TILE 16

extern "C" __global__ void add_row(float *c, const float *a, const float *b, unsigned n)
{
    unsigned column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < n && column < n)
        c[row * n + column] = a[row * n + column] + b[row * n + column];
}

extern "C" __global__ void add_column(float *c, const float *a, const float *b, unsigned n)
{
    unsigned row = blockIdx.x * blockDim.x + threadIdx.x, column = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < n && column < n)
        c[row * n + column] = a[row * n + column] + b[row * n + column];
}

extern "C" __global__ void grey(unsigned char *out, const unsigned char *in, unsigned n)
{
    unsigned column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < n && column < n) {
        unsigned at = row * n + column;
        float r = in[3 * at], g = in[3 * at + 1], b = in[3 * at + 2];
        out[at] = (unsigned char)(0.21f * r + 0.71f * g + 0.07f * b);
    }
}

extern "C" __global__ void matmul(unsigned *c, const unsigned *a, const unsigned *b, unsigned n)
{
    unsigned column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < n && column < n) {
        unsigned sum = 0;
        for (unsigned k = 0; k < n; ++k)
            sum += a[row * n + k] * b[k * n + column];
        c[row * n + column] = sum;
    }
}

extern "C" __global__ void matmul_tiled(unsigned *c, const unsigned *a, const unsigned *b, unsigned n)
{
    extern __shared__ unsigned tiles[];
    unsigned *left = tiles, *right = tiles + TILE * TILE;
    unsigned x = threadIdx.x, y = threadIdx.y, column = blockIdx.x * TILE + x, row = blockIdx.y * TILE + y, sum = 0;
    for (unsigned tile = 0; tile < (n + TILE - 1) / TILE; ++tile) {
        left[y * TILE + x] = row < n && tile * TILE + x < n ? a[row * n + tile * TILE + x] : 0;
        right[y * TILE + x] = column < n && tile * TILE + y < n ? b[(tile * TILE + y) * n + column] : 0;
        __syncthreads();
        for (unsigned k = 0; k < TILE; ++k)
            sum += left[y * TILE + k] * right[k * TILE + x];
        __syncthreads();
    }
    if (row < n && column < n)
        c[row * n + column] = sum;
}

extern "C" __global__ void matvec(unsigned *out, const unsigned *m, const unsigned *v, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        unsigned sum = 0;
        for (unsigned k = 0; k < n; ++k)
            sum += m[i * n + k] * v[k];
        out[i] = sum;
    }
}
