// Cheapest way through a grid of costs from row to row, in the manner of Rodinia's pathfinder: a CTA advances
// blockDim.x columns by `steps` rows in shared memory, and blockDim.x - 2 * steps of them are its own.
constexpr unsigned WIDTH = 256;

extern "C" __global__ void pathfinder(const int *wall, const int *before, int *after, int columns, int first_row,
                                      int steps) {
    __shared__ int cheapest[WIDTH], next[WIDTH];
    int x = threadIdx.x, own = WIDTH - 2 * steps;
    int column = blockIdx.x * own + x - steps;
    bool inside = column >= 0 && column < columns;
    if (inside) cheapest[x] = before[column];
    __syncthreads();
    for (int step = 0; step < steps; step++) {
        bool computed = inside && x > step && x < WIDTH - 1 - step;
        if (computed) {
            int best = cheapest[x];
            if (column > 0) best = min(best, cheapest[x - 1]);
            if (column < columns - 1) best = min(best, cheapest[x + 1]);
            next[x] = best + wall[(first_row + step) * columns + column];
        }
        __syncthreads();
        if (computed) cheapest[x] = next[x];
        __syncthreads();
    }
    if (inside && x >= steps && x < WIDTH - steps) after[column] = cheapest[x];
}
