// Alignment scores of two sequences (Needleman-Wunsch), in the manner of Rodinia's nw: one launch per diagonal of
// tiles, 16 threads per tile, which they cross diagonal by diagonal in shared memory.
constexpr int TILE = 16;

// score is (16 * tiles + 1) squared, its first row and column are given; similarity has one cell less on each side
extern "C" __global__ void needle(int *score, const int *similarity, int tiles, int first_column, int first_row,
                                  int penalty) {
    __shared__ int tile[TILE + 1][TILE + 1];
    int columns = tiles * TILE + 1, x = threadIdx.x;
    int tile_column = first_column + blockIdx.x, tile_row = first_row - blockIdx.x;
    int corner = tile_row * TILE * columns + tile_column * TILE;
    tile[0][x + 1] = score[corner + x + 1];
    tile[x + 1][0] = score[corner + (x + 1) * columns];
    if (x == 0) tile[0][0] = score[corner];
    __syncwarp();
    for (int diagonal = 0; diagonal < 2 * TILE - 1; diagonal++) {
        int i = x + 1, j = diagonal - x + 1;
        if (j >= 1 && j <= TILE) {
            int like = similarity[(tile_row * TILE + j - 1) * (columns - 1) + tile_column * TILE + i - 1];
            tile[j][i] = max(tile[j - 1][i - 1] + like, max(tile[j][i - 1], tile[j - 1][i]) - penalty);
        }
        __syncwarp();
    }
    for (int j = 1; j <= TILE; j++) score[corner + j * columns + x + 1] = tile[j][x + 1];
}

// score[0][k] = score[k][0] = -penalty * k
extern "C" __global__ void border(int *score, int columns, int penalty) {
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k < columns) score[k] = score[k * columns] = -penalty * k;
}
