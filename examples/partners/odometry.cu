// Visual odometry on two frames of a camera that moves: undistort, corners (Harris), pyramids, optical flow (Lucas-Kanade).
// Harris and Stephens, "A combined corner and edge detector" (1988); Bouguet, "Pyramidal implementation of the
// Lucas Kanade feature tracker" (2001), sections 2.3 and 2.4.

constexpr int TILE = 32;  // a corner for each tile of so many pixels squared
constexpr int RADIUS = 4;  // of the tracked window
constexpr int ITERATIONS = 10;

__device__ int clamped(int value, int size) { return min(max(value, 0), size - 1); }

__device__ float pixel(const float* image, int x, int y, int width, int height) {
    return image[clamped(y, height) * width + clamped(x, width)];
}

__device__ float bilinear(const float* image, float x, float y, int width, int height) {
    float left = floorf(x), top = floorf(y);
    float u = x - left, v = y - top;
    int column = (int)left, row = (int)top;
    float above = pixel(image, column, row, width, height) * (1 - u) + pixel(image, column + 1, row, width, height) * u;
    float below =
        pixel(image, column, row + 1, width, height) * (1 - u) + pixel(image, column + 1, row + 1, width, height) * u;
    return above * (1 - v) + below * v;
}

// A wall of soft bricks, seen by a camera that has moved by (move_x, move_y) pixels.
extern "C" __global__ void take_frame(float* image, int width, int height, float move_x, float move_y) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    float u = x + move_x, v = y + move_y;
    float bricks = __sinf(0.11f * u) * __sinf(0.13f * v);
    float stones = __sinf(0.29f * u + 1.0f) * __sinf(0.31f * v + 2.0f);
    image[y * width + x] = 128.0f + 70.0f * bricks + 50.0f * stones;
}

// Straight lines from a lens that bends them: r (1 + k1 r^2 + k2 r^4), r from the middle in half widths.
extern "C" __global__ void undistort(const float* from, float* to, int width, int height, float k1, float k2) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    float half = 0.5f * width;
    float u = (x - half) / half, v = (y - 0.5f * height) / half;
    float squared = u * u + v * v;
    float scale = 1.0f + squared * (k1 + k2 * squared);
    to[y * width + x] = bilinear(from, half + half * u * scale, 0.5f * height + half * v * scale, width, height);
}

// Products of the derivatives (Sobel) at each pixel.
extern "C" __global__ void multiply_gradients(const float* image, float* xx, float* xy, float* yy, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    float near[3][3];
    for (int j = 0; j < 3; j++)
        for (int i = 0; i < 3; i++) near[j][i] = pixel(image, x + i - 1, y + j - 1, width, height);
    float along = near[0][2] + 2 * near[1][2] + near[2][2] - near[0][0] - 2 * near[1][0] - near[2][0];
    float down = near[2][0] + 2 * near[2][1] + near[2][2] - near[0][0] - 2 * near[0][1] - near[0][2];
    int place = y * width + x;
    xx[place] = along * along;
    xy[place] = along * down;
    yy[place] = down * down;
}

// Harris' response from sums over 5 x 5 pixels.
extern "C" __global__ void respond(
    const float* xx, const float* xy, const float* yy, float* response, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    float a = 0, b = 0, c = 0;
    for (int j = -2; j <= 2; j++)
        for (int i = -2; i <= 2; i++) {
            a += pixel(xx, x + i, y + j, width, height);
            b += pixel(xy, x + i, y + j, width, height);
            c += pixel(yy, x + i, y + j, width, height);
        }
    response[y * width + x] = (a * c - b * b) - 0.04f * (a + c) * (a + c);
}

// The strongest pixel of each tile, at least 8 pixels from the border; the lowest number of equals: a CTA per tile.
extern "C" __global__ void pick_corners(const float* response, float2* corners, int width, int height) {
    __shared__ float strength[256];
    __shared__ int place[256];
    float best = -3e38f;
    int own = 1 << 30;
    for (int inside = threadIdx.x; inside < TILE * TILE; inside += 256) {
        int x = blockIdx.x * TILE + inside % TILE, y = blockIdx.y * TILE + inside / TILE;
        if (x < 8 || y < 8 || x >= width - 8 || y >= height - 8) continue;
        float found = response[y * width + x];
        if (found > best) {
            best = found;
            own = y * width + x;
        }
    }
    strength[threadIdx.x] = best;
    place[threadIdx.x] = own;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            float other = strength[threadIdx.x + half];
            int there = place[threadIdx.x + half];
            if (other > strength[threadIdx.x] || (other == strength[threadIdx.x] && there < place[threadIdx.x])) {
                strength[threadIdx.x] = other;
                place[threadIdx.x] = there;
            }
        }
        __syncthreads();
    }
    if (threadIdx.x == 0)
        corners[blockIdx.y * gridDim.x + blockIdx.x] = make_float2(place[0] % width, place[0] / width);
}

// Half the size: weights 1 4 6 4 1 both ways. width and height are the smaller picture's.
extern "C" __global__ void halve(const float* from, float* to, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    const float weights[5] = {0.0625f, 0.25f, 0.375f, 0.25f, 0.0625f};
    float sum = 0;
    for (int j = 0; j < 5; j++)
        for (int i = 0; i < 5; i++)
            sum += weights[j] * weights[i] * pixel(from, 2 * x + i - 2, 2 * y + j - 2, 2 * width, 2 * height);
    to[y * width + x] = sum;
}

__device__ float warp_sum(float value) {
    for (int away = 16; away > 0; away /= 2) value += __shfl_xor_sync(~0u, value, away);
    return value;
}

// One level of optical flow, a warp per corner: flow is twice the coarser level's, then refined.
extern "C" __global__ void track(
    const float* before, const float* after, const float2* corners, float2* flow, int width, int height, int level) {
    int corner = blockIdx.x, lane = threadIdx.x;
    float2 at = corners[corner], moved = flow[corner];
    at = make_float2(at.x / (1 << level), at.y / (1 << level));
    moved = make_float2(2 * moved.x, 2 * moved.y);
    constexpr int SIDE = 2 * RADIUS + 1, MOST = (SIDE * SIDE + 31) / 32;
    float value[MOST], along[MOST], down[MOST], xx = 0, xy = 0, yy = 0;
    for (int k = 0; k < MOST; k++) {
        int inside = lane + 32 * k;
        bool used = inside < SIDE * SIDE;
        float x = at.x + inside % SIDE - RADIUS, y = at.y + inside / SIDE - RADIUS;
        value[k] = used ? bilinear(before, x, y, width, height) : 0;
        along[k] = used ? 0.5f * (bilinear(before, x + 1, y, width, height) - bilinear(before, x - 1, y, width, height)) : 0;
        down[k] = used ? 0.5f * (bilinear(before, x, y + 1, width, height) - bilinear(before, x, y - 1, width, height)) : 0;
        xx += along[k] * along[k];
        xy += along[k] * down[k];
        yy += down[k] * down[k];
    }
    xx = warp_sum(xx);
    xy = warp_sum(xy);
    yy = warp_sum(yy);
    float determinant = fmaxf(xx * yy - xy * xy, 1e-3f);
    for (int round = 0; round < ITERATIONS; round++) {
        float bx = 0, by = 0;
        for (int k = 0; k < MOST; k++) {
            int inside = lane + 32 * k;
            if (inside >= SIDE * SIDE) continue;
            float x = at.x + moved.x + inside % SIDE - RADIUS, y = at.y + moved.y + inside / SIDE - RADIUS;
            float difference = value[k] - bilinear(after, x, y, width, height);
            bx += difference * along[k];
            by += difference * down[k];
        }
        bx = warp_sum(bx);
        by = warp_sum(by);
        moved.x += (yy * bx - xy * by) / determinant;
        moved.y += (xx * by - xy * bx) / determinant;
    }
    if (lane == 0) flow[corner] = moved;
}
