// Random numbers as LumiBench draws them: a seed mixed from pixel and sample by 16 rounds of TEA, then a linear
// congruential generator. Points are found by rejection, so that lanes of a warp diverge as they do there.
#pragma once

#include "vector_math.h"

namespace rayplay {

RAYPLAY_DEVICE unsigned tea16(unsigned a, unsigned b) {
    unsigned sum = 0;
#pragma unroll 1
    for (int round = 0; round < 16; ++round) {
        sum += 0x9e3779b9u;
        a += ((b << 4) + 0xa341316cu) ^ (b + sum) ^ ((b >> 5) + 0xc8013ea4u);
        b += ((a << 4) + 0xad90777du) ^ (a + sum) ^ ((a >> 5) + 0x7e95761eu);
    }
    return a;
}

// Uniform in [0, 1), the lower 24 bits.
RAYPLAY_DEVICE float uniform(unsigned& seed) {
    seed = 1664525u * seed + 1013904223u;
    return static_cast<float>(seed & 0x00ffffffu) * (1.0f / 16777216.0f);
}

RAYPLAY_DEVICE float2 point_in_disk(unsigned& seed) {
    float2 point;
#pragma unroll 1
    do {
        point.x = 2.0f * uniform(seed) - 1.0f;
        point.y = 2.0f * uniform(seed) - 1.0f;
    } while (point.x * point.x + point.y * point.y >= 1.0f);
    return point;
}

RAYPLAY_DEVICE float3 point_in_sphere(unsigned& seed) {
    float3 point;
    float squared;
#pragma unroll 1
    do {
        point.x = 2.0f * uniform(seed) - 1.0f;
        point.y = 2.0f * uniform(seed) - 1.0f;
        point.z = 2.0f * uniform(seed) - 1.0f;
        squared = dot(point, point);
    } while (squared >= 1.0f || squared < 1e-12f);
    return point;
}

RAYPLAY_DEVICE float3 direction_on_sphere(unsigned& seed) { return normalised(point_in_sphere(seed)); }

}  // namespace rayplay
