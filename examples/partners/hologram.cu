// Phases of a spatial light modulator that throw light onto spots: weighted Gerchberg-Saxton.
// Di Leonardo, Ianni, Ruocco, "Computer generation of optimal holograms for optical trap arrays", Optics Express 15
// (2007), equations 1, 6, 17 and 18 (the superposition that it starts from is 6); the shape of the kernels follows the hologram of ILLIXR, a partner of CRISP.

constexpr int THREADS = 256;
constexpr int PIXELS_PER_THREAD = 16;
constexpr float TURN = 6.28318530718f;

struct Spot {
    float x, y, z;  // turns of phase per pixel along x and y, and per squared pixel from the middle
};

// Phase in turns, from -0.5 to 0.5, that light gains from a pixel of the modulator to a spot.
__device__ float turns_to(const Spot& spot, int pixel, int width, int height) {
    float x = pixel % width - 0.5f * width;
    float y = pixel / width - 0.5f * height;
    float turns = spot.x * x + spot.y * y + spot.z * (x * x + y * y);
    return turns - rintf(turns);
}

// Field at each spot, summed over a chunk of the pixels: grid (chunks, spots).
extern "C" __global__ void propagate_to_spots(
    const float* phase, const Spot* spots, float2* partial, int width, int height) {
    __shared__ float2 field[THREADS];
    Spot spot = spots[blockIdx.y];
    float2 sum = make_float2(0.0f, 0.0f);
    int pixel = blockIdx.x * THREADS * PIXELS_PER_THREAD + threadIdx.x;
    for (int step = 0; step < PIXELS_PER_THREAD && pixel < width * height; step++, pixel += THREADS) {
        float turns = phase[pixel] - turns_to(spot, pixel, width, height);
        float angle = TURN * (turns - rintf(turns));
        sum.x += __cosf(angle);
        sum.y += __sinf(angle);
    }
    field[threadIdx.x] = sum;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            field[threadIdx.x].x += field[threadIdx.x + half].x;
            field[threadIdx.x].y += field[threadIdx.x + half].y;
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) partial[blockIdx.y * gridDim.x + blockIdx.x] = field[0];
}

// Phase (turns) and amplitude (share of all light) of each spot: a warp per spot.
extern "C" __global__ void sum_spots(const float2* partial, float2* spot_field, int chunks, int pixels) {
    float2 sum = make_float2(0.0f, 0.0f);
    for (int chunk = threadIdx.x; chunk < chunks; chunk += 32) {
        float2 part = partial[blockIdx.x * chunks + chunk];
        sum.x += part.x;
        sum.y += part.y;
    }
    for (int away = 16; away > 0; away /= 2) {
        sum.x += __shfl_xor_sync(~0u, sum.x, away);
        sum.y += __shfl_xor_sync(~0u, sum.y, away);
    }
    if (threadIdx.x == 0) {
        float amplitude = sqrtf(sum.x * sum.x + sum.y * sum.y) / pixels;
        spot_field[blockIdx.x] = make_float2(atan2f(sum.y, sum.x) / TURN, amplitude);
    }
}

// Weights: a spot darker than the mean gets more.
extern "C" __global__ void weigh_spots(const float2* spot_field, float* weights, int spots) {
    float mean = 0.0f;
    for (int spot = 0; spot < spots; spot++) mean += spot_field[spot].y / spots;
    int own = threadIdx.x;
    if (own < spots) weights[own] *= mean / fmaxf(spot_field[own].y, 1e-6f);
}

// New phase of each pixel: the field of all spots, sent back.
extern "C" __global__ void propagate_to_modulator(
    const Spot* spots, const float2* spot_field, const float* weights, float* phase, int width, int height,
    int count) {
    int pixel = blockIdx.x * THREADS + threadIdx.x;
    if (pixel >= width * height) return;
    float real = 0.0f, imaginary = 0.0f;
    for (int spot = 0; spot < count; spot++) {
        float turns = spot_field[spot].x + turns_to(spots[spot], pixel, width, height);
        float angle = TURN * (turns - rintf(turns));
        real += weights[spot] * __cosf(angle);
        imaginary += weights[spot] * __sinf(angle);
    }
    phase[pixel] = atan2f(imaginary, real) / TURN;
}
