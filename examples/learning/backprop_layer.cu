// Forward pass of one layer of a neural network, as Rodinia's backprop has it: 16 hidden units per CTA column, each CTA
// multiplies 16 inputs with their weights and sums over the inputs in shared memory.
// partial[input tile][hidden unit] = sum over the tile of input * weight
constexpr unsigned TILE = 16;

extern "C" __global__ void layer_forward(const float *input, const float *weight, float *partial, unsigned hidden) {
    __shared__ float tile_input[TILE];
    __shared__ float product[TILE][TILE];
    unsigned x = threadIdx.x, y = threadIdx.y;
    unsigned row = blockIdx.y * TILE + y, column = blockIdx.x * TILE + x;
    if (x == 0) tile_input[y] = input[row];
    __syncthreads();
    product[y][x] = weight[row * hidden + column] * tile_input[y];
    __syncthreads();
    for (unsigned step = 1; step < TILE; step *= 2) {
        if (y % (2 * step) == 0) product[y][x] += product[y + step][x];
        __syncthreads();
    }
    if (y == 0) partial[blockIdx.y * hidden + column] = product[0][x];
}

// weight += rate * delta of the hidden unit * input, with momentum
extern "C" __global__ void adjust_weights(const float *delta, const float *input, float *weight, float *previous,
                                          unsigned hidden, float rate, float momentum) {
    unsigned row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
    unsigned at = row * hidden + column;
    float change = rate * delta[column] * input[row] + momentum * previous[at];
    weight[at] += change;
    previous[at] = change;
}
