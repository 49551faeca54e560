// Layers of a small network that segments pictures of eyes: convolutions as tiled matrix products, pools, upsampling.
// Its layers have the shapes of RITnet (Chaudhary et al., ICCV Workshops 2019): 32 channels, 3 x 3 and 1 x 1.

constexpr int ROWS = 32;  // output channels of a tile
constexpr int COLUMNS = 128;  // pixels of a tile
constexpr int DEPTH = 16;  // products of a step
constexpr int THREADS = 256;  // each makes 4 channels x 4 pixels

// to[channels_out][pixels] = leaky(weights[channels_out][channels_in * SIDE * SIDE] * patches(from) + bias).
template <int SIDE>
__device__ void convolve(
    const float* from, const float* weights, const float* bias, float* to, int width, int height, int channels_in,
    int channels_out, float slope) {
    __shared__ __align__(16) float a[DEPTH][ROWS];
    __shared__ __align__(16) float b[DEPTH][COLUMNS];
    int pixels = width * height, depth = channels_in * SIDE * SIDE, thread = threadIdx.x;
    int first = blockIdx.x * COLUMNS, loaded = first + thread % COLUMNS;
    int loaded_x = loaded % width - SIDE / 2, loaded_y = loaded / width - SIDE / 2;
    int row = thread / 32 * 4, column = thread % 32 * 4;
    float sum[4][4] = {};
    for (int step = 0; step < depth; step += DEPTH) {
        for (int channel = thread / DEPTH; channel < ROWS; channel += THREADS / DEPTH) {
            int product = step + thread % DEPTH;
            bool inside = product < depth && channel < channels_out;
            a[thread % DEPTH][channel] = inside ? weights[channel * depth + product] : 0.0f;
        }
        for (int k = thread / COLUMNS; k < DEPTH; k += THREADS / COLUMNS) {
            int product = step + k, x = loaded_x + product % SIDE, y = loaded_y + product / SIDE % SIDE;
            bool inside = product < depth && loaded < pixels && x >= 0 && x < width && y >= 0 && y < height;
            b[k][thread % COLUMNS] = inside ? from[(product / (SIDE * SIDE) * height + y) * width + x] : 0.0f;
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < DEPTH; k++) {
            float4 u = *(float4*)&a[k][row], v = *(float4*)&b[k][column];
            float weight[4] = {u.x, u.y, u.z, u.w}, patch[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
            for (int j = 0; j < 4; j++)
#pragma unroll
                for (int i = 0; i < 4; i++) sum[j][i] = fmaf(weight[j], patch[i], sum[j][i]);
        }
        __syncthreads();
    }
    for (int j = 0; j < 4; j++)
        for (int i = 0; i < 4; i++) {
            int channel = row + j, pixel = first + column + i;
            if (channel >= channels_out || pixel >= pixels) continue;
            float value = sum[j][i] + bias[channel];
            to[channel * pixels + pixel] = value > 0 ? value : slope * value;
        }
}

extern "C" __global__ void convolve_3x3(
    const float* from, const float* weights, const float* bias, float* to, int width, int height, int channels_in,
    int channels_out, float slope) {
    convolve<3>(from, weights, bias, to, width, height, channels_in, channels_out, slope);
}

extern "C" __global__ void convolve_1x1(
    const float* from, const float* weights, const float* bias, float* to, int width, int height, int channels_in,
    int channels_out, float slope) {
    convolve<1>(from, weights, bias, to, width, height, channels_in, channels_out, slope);
}

// Means of 2 x 2 pixels; width and height are the smaller picture's.
extern "C" __global__ void pool(const float* from, float* to, int width, int height, int channels) {
    int number = blockIdx.x * blockDim.x + threadIdx.x;
    if (number >= width * height * channels) return;
    int x = number % width, y = number / width % height, channel = number / (width * height);
    const float* corner = from + (channel * 2 * height + 2 * y) * 2 * width + 2 * x;
    to[number] = 0.25f * (corner[0] + corner[1] + corner[2 * width] + corner[2 * width + 1]);
}

// Channels of a picture of twice the size, then those of the same size beside them; width and height are the larger's.
extern "C" __global__ void upsample_beside(
    const float* small, const float* same, float* to, int width, int height, int channels) {
    int number = blockIdx.x * blockDim.x + threadIdx.x;
    int pixels = width * height;
    if (number >= 2 * channels * pixels) return;
    int channel = number / pixels, x = number % width, y = number / width % height;
    if (channel < channels)
        to[number] = small[(channel * (height / 2) + y / 2) * (width / 2) + x / 2];
    else
        to[number] = same[number - channels * pixels];
}

// The class of each pixel: its largest score, the first of equals.
extern "C" __global__ void choose_class(const float* scores, unsigned char* classes, int pixels, int count) {
    int pixel = blockIdx.x * blockDim.x + threadIdx.x;
    if (pixel >= pixels) return;
    int best = 0;
    for (int k = 1; k < count; k++)
        if (scores[k * pixels + pixel] > scores[best * pixels + pixel]) best = k;
    classes[pixel] = best;
}
