// Fragments: varyings in, a colour out.
#pragma once

#include "graphics.h"

namespace rayplay {

struct Fragment {
    unsigned thread;
    Coordinates at;
    float3 world, normal;
    float3 right, down;  // change of the place in the world to the next pixel
    float4 color;
};

__device__ inline void read_depth(unsigned thread);

__device__ inline void tint(Fragment& f, float4 texel) {
    f.color = make_float4(f.color.x * texel.x, f.color.y * texel.y, f.color.z * texel.z, f.color.w * texel.w);
}

// The normal of the triangle itself where the file has none.
template <bool MERGES, bool COLORED>
__device__ inline Fragment begin_fragment() {
    Fragment f;
    f.thread = thread_number();
    if (MERGES) read_depth(f.thread);
    f.at = quad_coordinates(f.thread);
    f.world = load3(draw.world, f.thread);
    f.normal = load3(draw.normal, f.thread);
    f.right = along_x(f.world);
    f.down = along_y(f.world);
    if (dot(f.normal, f.normal) < 1e-12f) f.normal = cross(f.down, f.right);
    f.normal = normalised(f.normal);
    if (dot(f.normal, first3(draw.eye) - f.world) < 0.0f) f.normal = -1.0f * f.normal;
    f.color = draw.base_color;
    if (COLORED) tint(f, draw.color[f.thread]);
    return f;
}

__device__ inline float3 lambert(const Fragment& f) {
    float facing = fmaxf(dot(f.normal, first3(draw.to_light)), 0.0f);
    return first3(f.color) * (first3(draw.ambient) + (facing / PI) * first3(draw.light));
}

// The output merger's traffic, which other units of a GPU make: a live thread reads the depth of its pixel, and where
// colours blend the colour below; one that is kept writes its depth. Volatile: these go past the L1.
__device__ inline void read_depth(unsigned thread) {
    if (draw.slots[thread] != NOT_LIVE) (void)*(volatile const float*)(draw.depth + draw.window[thread].x);
}

__device__ inline void merge(unsigned thread) {
    uint2 window = draw.window[thread];
    if (draw.depth_write) *(volatile float*)(draw.depth + window.x) = __uint_as_float(window.y);
    if (draw.blends)
        asm volatile("{ .reg .f32 a, b, c, d; ld.volatile.v4.f32 {a, b, c, d}, [%0]; }" ::"l"(draw.target + window.x));
}

// The colour of a live thread that is not cut out goes to its slot of the target.
template <bool MERGES>
__device__ inline void end_fragment(const Fragment& f, float3 radiance) {
    unsigned slot = draw.slots[f.thread];
    if (slot == NOT_LIVE || f.color.w < draw.cutoff) return;
    if (MERGES) merge(f.thread);
    draw.target[slot] = make_float4(radiance.x, radiance.y, radiance.z, f.color.w);
}

// Tangent and bitangent from derivatives, along u and v, the longer of length 1.
// Source: Mikkelsen, "Surface gradient-based bump mapping framework", JCGT 9 (2020).
struct Frame {
    float3 tangent, bitangent;
};

__device__ inline Frame frame_of(const Fragment& f) {
    float3 across = cross(f.down, f.normal), along = cross(f.normal, f.right);
    float3 tangent = f.at.along_x.x * across + f.at.along_y.x * along;
    float3 bitangent = f.at.along_x.y * across + f.at.along_y.y * along;
    float scale = rsqrtf(fmaxf(fmaxf(dot(tangent, tangent), dot(bitangent, bitangent)), 1e-20f));
    float side = dot(cross(f.right, f.down), f.normal) < 0.0f ? -scale : scale;
    return {side * tangent, side * bitangent};
}

}  // namespace rayplay
