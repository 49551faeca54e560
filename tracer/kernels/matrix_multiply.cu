// product = left x right, all row-major: left is rows x depth, right is depth x columns.
// A CTA of TILE x TILE threads makes one tile of the product from pairs of tiles that it brings to shared memory.
constexpr unsigned TILE = 16;

extern "C" __global__ void matrix_multiply(const float *left, const float *right, float *product, unsigned rows,
                                           unsigned depth, unsigned columns) {
    __shared__ float left_tile[TILE][TILE];
    __shared__ float right_tile[TILE][TILE];
    unsigned x = threadIdx.x, y = threadIdx.y;
    unsigned row = blockIdx.y * TILE + y, column = blockIdx.x * TILE + x;
    float sum = 0.0f;
    for (unsigned first = 0; first < depth; first += TILE) {
        left_tile[y][x] = row < rows && first + x < depth ? left[row * depth + first + x] : 0.0f;
        right_tile[y][x] = first + y < depth && column < columns ? right[(first + y) * columns + column] : 0.0f;
        __syncthreads();
        for (unsigned k = 0; k < TILE; ++k) sum += left_tile[y][k] * right_tile[k][x];
        __syncthreads();  // nobody may still read the tiles when the next ones arrive
    }
    if (row < rows && column < columns) product[row * columns + column] = sum;
}
