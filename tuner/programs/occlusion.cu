// A ray tracer in software, as the paper tunes: primary rays of a pixel, shadow rays and rays of ambient occlusion where
// they hit, each through a binary BVH. `look` is the same for a few pixels and writes what each ray visited.
//
// Numbers of rays may be fractions: of 2.25 a quarter of the warps, spread over the picture, traces 3 and the others 2.
//
// Every ray runs the loop of nodes, then the loop of triangles, until its stack is empty: the two innermost loops of the
// program, whose bodies tuner/kernel.py counts.

constexpr int DONE = 0x7fffffff, STACK = 64;
constexpr float START = 1e-3f, FAR = 1e30f;

// node 2 i, 2 i + 1 of a box: (low, child) and (-high, 0); a child is the first of a pair of boxes, or ~triangle
struct Scene {
    const float4* boxes;
    const float4* triangles;  // corner, edge, edge
    float3 eye, right, up, forward, light;
    int root;
};

struct Frame {
    int width, height;
    float occlusion_rays, shadow_rays, samples, radius;
    unsigned seed;
    int tile_step;  // blocks render every tile_step-th tile
};

struct Visits {
    int nodes, triangles, leaf, hit;
};

struct Ray {
    float3 origin, direction;
};

__device__ __forceinline__ float3 operator+(float3 a, float3 b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
__device__ __forceinline__ float3 operator-(float3 a, float3 b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
__device__ __forceinline__ float3 operator*(float s, float3 a) { return {s * a.x, s * a.y, s * a.z}; }
__device__ __forceinline__ float dot(float3 a, float3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
__device__ __forceinline__ float3 cross(float3 a, float3 b) {
    return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
__device__ __forceinline__ float3 xyz(float4 a) { return {a.x, a.y, a.z}; }
__device__ __forceinline__ float3 normalised(float3 a) { return rsqrtf(dot(a, a)) * a; }

__device__ __forceinline__ float uniform(unsigned& seed) {
    seed = 1664525u * seed + 1013904223u;
    return static_cast<float>(seed >> 8) * (1.0f / 16777216.0f);
}

__device__ __forceinline__ unsigned mixed(unsigned a, unsigned b) {
    unsigned hash = a * 0x9e3779b1u ^ (b + 0x85ebca77u);
    hash = (hash ^ (hash >> 15)) * 0x2c1b3c6du;
    hash = (hash ^ (hash >> 12)) * 0x297a2d39u;
    return hash ^ (hash >> 15);
}

// Where the ray enters the box, or FAR.
__device__ __forceinline__ float entry(float4 low, float4 high, float3 origin, float3 inverse, float limit) {
    const float x0 = (low.x - origin.x) * inverse.x, x1 = (-high.x - origin.x) * inverse.x;
    const float y0 = (low.y - origin.y) * inverse.y, y1 = (-high.y - origin.y) * inverse.y;
    const float z0 = (low.z - origin.z) * inverse.z, z1 = (-high.z - origin.z) * inverse.z;
    const float near = fmaxf(fmaxf(fminf(x0, x1), fminf(y0, y1)), fmaxf(fminf(z0, z1), START));
    const float far = fminf(fminf(fmaxf(x0, x1), fmaxf(y0, y1)), fminf(fmaxf(z0, z1), limit));
    return near <= far ? near : FAR;
}

// The closest triangle within `limit`, which becomes its distance; with `any` the first one met. -1: none.
template <bool LOOK>
__device__ __forceinline__ int traverse(const Scene& scene, const Ray& ray, float& limit, bool any, Visits& visits) {
    int stack[STACK], top = 0, node = scene.root, found = -1;
    const float3 inverse = {1.0f / ray.direction.x, 1.0f / ray.direction.y, 1.0f / ray.direction.z};
    stack[0] = DONE;
#pragma unroll 1
    while (node != DONE) {
#pragma unroll 1
        while (node >= 0 && node != DONE) {
            const float4* pair = scene.boxes + 2 * node;
            const float4 low0 = __ldg(pair), high0 = __ldg(pair + 1), low1 = __ldg(pair + 2), high1 = __ldg(pair + 3);
            const float t0 = entry(low0, high0, ray.origin, inverse, limit);
            const float t1 = entry(low1, high1, ray.origin, inverse, limit);
            const int child0 = __float_as_int(low0.w), child1 = __float_as_int(low1.w);
            if (LOOK) ++visits.nodes;
            if (t0 < FAR && t1 < FAR) {
                stack[++top] = t0 <= t1 ? child1 : child0;
                node = t0 <= t1 ? child0 : child1;
            } else if (t0 < FAR || t1 < FAR) {
                node = t0 < FAR ? child0 : child1;
            } else {
                node = stack[top--];
            }
        }
#pragma unroll 1
        while (node < 0) {
            const float4* rows = scene.triangles + 3 * ~node;
            const float3 corner = xyz(__ldg(rows)), one = xyz(__ldg(rows + 1)), other = xyz(__ldg(rows + 2));
            const float3 across = cross(ray.direction, other), from = ray.origin - corner, along = cross(from, one);
            const float scale = 1.0f / dot(one, across);
            const float u = scale * dot(from, across), v = scale * dot(ray.direction, along);
            const float t = scale * dot(other, along);
            if (LOOK) {
                ++visits.triangles;
                visits.leaf = ~node;
            }
            if (u >= 0.0f && v >= 0.0f && u + v <= 1.0f && t > START && t < limit) {
                limit = t;
                found = ~node;
            }
            node = any && found >= 0 ? DONE : stack[top--];
        }
    }
    if (LOOK) visits.hit = found >= 0;
    return found;
}

__device__ __forceinline__ Ray camera_ray(const Scene& scene, const Frame& frame, float x, float y) {
    const float u = 2.0f * x / frame.width - 1.0f, v = 1.0f - 2.0f * y / frame.height;
    return {scene.eye, normalised(scene.forward + u * scene.right + v * scene.up)};
}

// Uniform on the hemisphere above the surface.
__device__ __forceinline__ float3 above(float3 normal, unsigned& seed) {
    const float z = 2.0f * uniform(seed) - 1.0f, angle = 6.2831853f * uniform(seed);
    const float radius = sqrtf(fmaxf(1.0f - z * z, 0.0f));
    const float3 direction = {radius * __cosf(angle), radius * __sinf(angle), z};
    return dot(direction, normal) < 0.0f ? -1.0f * direction : direction;
}

// Rank of a warp, in 256ths: Roberts' R2 sequence along its column and row (tuner/settings.py says it again).
__device__ __forceinline__ float rank_of(unsigned column, unsigned row) {
    return static_cast<float>((3242174889u * column + 2447445414u * row) >> 24) * (1.0f / 256.0f);
}

struct Counts {
    int shadow, occlusion;
};

struct Shares {
    float open, lit;
    bool sky;
};

// One sample of a pixel: a primary ray and the rays after it.
template <bool LOOK>
__device__ __forceinline__ Shares sample(
    const Scene& scene, const Frame& frame, Ray ray, const Counts& counts, unsigned& seed, Visits* visits) {
    const int pixels = frame.width * frame.height, rays = 1 + counts.shadow + counts.occlusion;
    float3 normal = {0.0f, 0.0f, 0.0f}, point = ray.origin;
    int open = 0, lit = 0;
    float limit = FAR;
#pragma unroll 1
    for (int number = 0; number < rays; ++number) {
        Visits seen = {0, 0, -1, 0};
        const int found = traverse<LOOK>(scene, ray, limit, number > 0, seen);
        if (LOOK) visits[number * pixels] = seen;
        if (number == 0) {
            if (found < 0) return {1.0f, 1.0f, true};
            const float4* rows = scene.triangles + 3 * found;
            normal = normalised(cross(xyz(__ldg(rows + 1)), xyz(__ldg(rows + 2))));
            if (dot(normal, ray.direction) > 0.0f) normal = -1.0f * normal;
            point = ray.origin + limit * ray.direction + START * normal;
        } else if (number <= counts.shadow) {
            lit += found < 0;
        } else {
            open += found < 0;
        }
        if (number < counts.shadow) {
            ray = {point, scene.light - point};
            limit = 1.0f;
        } else {
            ray = {point, above(normal, seed)};
            limit = frame.radius;
        }
    }
    const float shadow = counts.shadow > 0 ? 0.5f + 0.5f * lit / counts.shadow : 1.0f;
    return {counts.occlusion > 0 ? float(open) / counts.occlusion : 1.0f, shadow, false};
}

template <bool LOOK>
__device__ __forceinline__ void shade(const Scene& scene, const Frame& frame, float4* image, Visits* visits) {
    const int tiles = (frame.width + blockDim.x - 1) / blockDim.x, tile = blockIdx.x * frame.tile_step;
    const int column = tile % tiles, row = tile / tiles;
    const int x = column * blockDim.x + threadIdx.x, y = row * blockDim.y + threadIdx.y;
    if (x >= frame.width || y >= frame.height) return;
    const int pixel = y * frame.width + x;
    const float rank = rank_of(column, 2 * row + threadIdx.y / 4);
    const Counts counts = {static_cast<int>(frame.shadow_rays + rank), static_cast<int>(frame.occlusion_rays + rank)};
    const int samples = static_cast<int>(frame.samples + rank);
    unsigned seed = mixed(pixel, frame.seed);
    float open = 0.0f, lit = 0.0f, light = 0.0f, dx = 0.5f, dy = 0.5f;
#pragma unroll 1
    for (int number = 0; number < samples; ++number) {
        const Ray primary = camera_ray(scene, frame, x + dx, y + dy);
        const Shares made = sample<LOOK>(scene, frame, primary, counts, seed, LOOK ? visits + pixel : nullptr);
        open += made.open;
        lit += made.lit;
        light += made.sky ? 1.0f : made.open * made.lit;
        dx = uniform(seed);
        dy = uniform(seed);
    }
    const float weight = 1.0f / samples;
    image[pixel] = {weight * light, weight * open, weight * lit, 1.0f};
}

extern "C" __global__ void occlusion(Scene scene, Frame frame, float4* image) { shade<false>(scene, frame, image, nullptr); }

extern "C" __global__ void look(Scene scene, Frame frame, float4* image, Visits* visits) {
    shade<true>(scene, frame, image, visits);
}
