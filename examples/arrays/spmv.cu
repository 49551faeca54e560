// y = A x with a sparse matrix in rows (CSR): a thread per row, and a warp per row.
constexpr unsigned LANES = 32;

extern "C" __global__ void spmv_thread(const unsigned *offsets, const unsigned *columns, const float *values,
                                       const float *x, float *y, unsigned rows) {
    unsigned row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float sum = 0.0f;
    for (unsigned k = offsets[row]; k < offsets[row + 1]; k++) sum += values[k] * x[columns[k]];
    y[row] = sum;
}

extern "C" __global__ void spmv_warp(const unsigned *offsets, const unsigned *columns, const float *values,
                                     const float *x, float *y, unsigned rows) {
    unsigned row = (blockIdx.x * blockDim.x + threadIdx.x) / LANES, lane = threadIdx.x % LANES;
    if (row >= rows) return;
    float sum = 0.0f;
    for (unsigned k = offsets[row] + lane; k < offsets[row + 1]; k += LANES) sum += values[k] * x[columns[k]];
    for (unsigned distance = LANES / 2; distance > 0; distance /= 2) sum += __shfl_down_sync(0xffffffffu, sum, distance);
    if (lane == 0) y[row] = sum;
}
