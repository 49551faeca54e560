// Temperatures of a chip, in the manner of Rodinia's hotspot: each CTA keeps a tile with a border of `steps` cells in
// shared memory and advances it `steps` times, while the part of the tile that is still right shrinks.
constexpr int TILE = 16;

extern "C" __global__ void hotspot(const float *power, const float *before, float *after, int columns, int rows,
                                   int steps, float step_over_capacity, float rx, float ry, float rz) {
    __shared__ float tile[TILE][TILE], next[TILE][TILE];
    constexpr float AMBIENT = 80.0f;
    int x = threadIdx.x, y = threadIdx.y, inner = TILE - 2 * steps;
    int column = blockIdx.x * inner + x - steps, row = blockIdx.y * inner + y - steps;
    bool inside = column >= 0 && column < columns && row >= 0 && row < rows;
    if (inside) tile[y][x] = before[row * columns + column];
    __syncthreads();
    float watts = inside ? power[row * columns + column] : 0.0f;
    int north = row > 0 ? y - 1 : y, south = row < rows - 1 ? y + 1 : y;
    int west = column > 0 ? x - 1 : x, east = column < columns - 1 ? x + 1 : x;
    for (int step = 1; step <= steps; step++) {
        bool computed = inside && x >= step && x < TILE - step && y >= step && y < TILE - step;
        if (computed) {
            float here = tile[y][x];
            float flow = watts + (tile[south][x] + tile[north][x] - 2.0f * here) * ry +
                         (tile[y][east] + tile[y][west] - 2.0f * here) * rx + (AMBIENT - here) * rz;
            next[y][x] = here + step_over_capacity * flow;
        }
        __syncthreads();
        if (computed) tile[y][x] = next[y][x];
        __syncthreads();
    }
    if (inside && x >= steps && x < TILE - steps && y >= steps && y < TILE - steps) {
        after[row * columns + column] = tile[y][x];
    }
}
