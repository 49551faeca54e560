// Three-component vectors and the hardware's approximate square roots: no library code reaches the programs.
#pragma once

#include "rayplay_device.h"

namespace rayplay {

RAYPLAY_DEVICE float approximate_sqrt(float x) {
    float result;
    asm("sqrt.approx.f32 %0, %1;" : "=f"(result) : "f"(x));
    return result;
}

RAYPLAY_DEVICE float approximate_rsqrt(float x) {
    float result;
    asm("rsqrt.approx.f32 %0, %1;" : "=f"(result) : "f"(x));
    return result;
}

RAYPLAY_DEVICE float approximate_reciprocal(float x) {
    float result;
    asm("rcp.approx.f32 %0, %1;" : "=f"(result) : "f"(x));
    return result;
}

RAYPLAY_DEVICE float3 vector(float x, float y, float z) { return make_float3(x, y, z); }
RAYPLAY_DEVICE float3 operator+(float3 a, float3 b) { return vector(a.x + b.x, a.y + b.y, a.z + b.z); }
RAYPLAY_DEVICE float3 operator-(float3 a, float3 b) { return vector(a.x - b.x, a.y - b.y, a.z - b.z); }
RAYPLAY_DEVICE float3 operator-(float3 a) { return vector(-a.x, -a.y, -a.z); }
RAYPLAY_DEVICE float3 operator*(float3 a, float3 b) { return vector(a.x * b.x, a.y * b.y, a.z * b.z); }
RAYPLAY_DEVICE float3 operator*(float s, float3 a) { return vector(s * a.x, s * a.y, s * a.z); }

RAYPLAY_DEVICE float dot(float3 a, float3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }

RAYPLAY_DEVICE float3 cross(float3 a, float3 b) {
    return vector(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}

RAYPLAY_DEVICE float3 normalised(float3 a) { return approximate_rsqrt(dot(a, a)) * a; }

RAYPLAY_DEVICE float3 reflected(float3 direction, float3 normal) {
    return direction - 2.0f * dot(direction, normal) * normal;
}

}  // namespace rayplay
