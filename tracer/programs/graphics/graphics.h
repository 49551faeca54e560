// What the shaders of a draw share: its buffers, its textures, and where its fragments go.
// The layout is listed in surface.toml; docs/raster.md says what each member holds.
#pragma once

namespace rayplay {

constexpr unsigned NOT_LIVE = 0xffffffffu;  // slot of a thread that only helps its quad
constexpr float PI = 3.14159265f;
enum Map { BASE_COLOR, METALLIC_ROUGHNESS, NORMAL, OCCLUSION, EMISSIVE, HEIGHT, LAYERS, IRRADIANCE, PREFILTERED, BRDF, MAPS };

struct Draw {
    // vertex buffers and what vertices give to fragments, an array each
    const unsigned* vertices;  // vertex of each invocation of an instance
    const float* positions;
    const float* normals;
    const float* uv;
    const float4* places;     // three rows an instance
    const float4* instances;  // two an instance: position, rotation about x, y and z, scale, layer; null: places alone
    float4* clip;
    float* world_out;
    float* normal_out;
    float* uv_out;
    float* layer_out;
    // fragments: varyings, interpolated, and the slot of the target
    const float* world;
    const float* normal;
    const float* coordinates;
    const float* layer;
    const float2* steps;  // change of the coordinates to the pixel beside and to the one above or below; null: the quad's
    const unsigned* slots;
    float4* target;
    unsigned long long maps[MAPS];  // handles, 0 for none
    float4 base_color;
    float4 to_clip[4];  // rows of world to clip space
    float metallic, roughness, cutoff;
    unsigned length, invocations;
    float emissive[3], eye[3], to_light[3], light[3], ambient[3];
    // of the shaders that make the output merger's traffic
    const uint2* window;  // of each fragment: pixel, depth
    float* depth;         // of each pixel
    unsigned depth_write, blends;
    // of the shaders of draws whose vertices have colours
    const float4* colors;
    float4* color_out;
    const float4* color;
};

}  // namespace rayplay

extern "C" {
__constant__ rayplay::Draw draw;
}

namespace rayplay {

__device__ inline unsigned thread_number() { return blockIdx.x * blockDim.x + threadIdx.x; }

__device__ inline float3 load3(const float* from, unsigned row) {
    return make_float3(from[3 * row], from[3 * row + 1], from[3 * row + 2]);
}

__device__ inline void store3(float* to, unsigned row, float3 value) {
    to[3 * row] = value.x;
    to[3 * row + 1] = value.y;
    to[3 * row + 2] = value.z;
}

__device__ inline float3 operator+(float3 a, float3 b) { return make_float3(a.x + b.x, a.y + b.y, a.z + b.z); }
__device__ inline float3 operator-(float3 a, float3 b) { return make_float3(a.x - b.x, a.y - b.y, a.z - b.z); }
__device__ inline float3 operator*(float3 a, float3 b) { return make_float3(a.x * b.x, a.y * b.y, a.z * b.z); }
__device__ inline float3 operator*(float s, float3 a) { return make_float3(s * a.x, s * a.y, s * a.z); }
__device__ inline float dot(float3 a, float3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
__device__ inline float3 cross(float3 a, float3 b) {
    return make_float3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}
__device__ inline float3 normalised(float3 a) { return rsqrtf(fmaxf(dot(a, a), 1e-20f)) * a; }
__device__ inline float3 first3(const float* a) { return make_float3(a[0], a[1], a[2]); }
__device__ inline float3 first3(float4 a) { return make_float3(a.x, a.y, a.z); }
__device__ inline float3 grey(float value) { return make_float3(value, value, value); }

// Difference to the neighbour in the quad: lanes are upper left, upper right, lower left, lower right.
__device__ inline float along_x(float value) {
    float other = __shfl_xor_sync(~0u, value, 1);
    return threadIdx.x & 1 ? value - other : other - value;
}
__device__ inline float along_y(float value) {
    float other = __shfl_xor_sync(~0u, value, 2);
    return threadIdx.x & 2 ? value - other : other - value;
}
__device__ inline float3 along_x(float3 a) { return make_float3(along_x(a.x), along_x(a.y), along_x(a.z)); }
__device__ inline float3 along_y(float3 a) { return make_float3(along_y(a.x), along_y(a.y), along_y(a.z)); }

struct Coordinates {
    float u, v;
    float2 along_x, along_y;
    float2 step_x, step_y;  // what decides the level of detail
};

__device__ inline Coordinates quad_coordinates(unsigned thread) {
    float u = draw.coordinates[2 * thread], v = draw.coordinates[2 * thread + 1];
    float2 x = make_float2(along_x(u), along_x(v)), y = make_float2(along_y(u), along_y(v));
    if (!draw.steps) return {u, v, x, y, x, y};
    float2 step = draw.steps[thread];
    return {u, v, x, y, make_float2(step.x, 0.0f), make_float2(0.0f, step.y)};
}

__device__ inline float4 sample(Map map, const Coordinates& at) {
    return tex2DGrad<float4>(draw.maps[map], at.u, at.v, at.step_x, at.step_y);
}

__device__ inline float4 sample_layer(Map map, const Coordinates& at, int layer) {
    return tex2DLayeredGrad<float4>(draw.maps[map], at.u, at.v, layer, at.step_x, at.step_y);
}

__device__ inline bool has(Map map) { return draw.maps[map] != 0; }

}  // namespace rayplay
