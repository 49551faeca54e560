// Vertices: one invocation a thread; its instance is the number over the length of the list of vertices.
#pragma once

#include "graphics.h"

namespace rayplay {

// Rotation about x, then y, then z.
__device__ inline float3 turned(float3 a, float3 angles) {
    float s = __sinf(angles.x), c = __cosf(angles.x);
    a = make_float3(a.x, c * a.y - s * a.z, s * a.y + c * a.z);
    s = __sinf(angles.y), c = __cosf(angles.y);
    a = make_float3(c * a.x + s * a.z, a.y, c * a.z - s * a.x);
    s = __sinf(angles.z), c = __cosf(angles.z);
    return make_float3(c * a.x - s * a.y, s * a.x + c * a.y, a.z);
}

// Object to world to clip space; place: three rows of a matrix.
__device__ inline void finish_vertex(unsigned thread, unsigned vertex, const float4* place, float3 position,
                                     float3 normal) {
    float4 row[3] = {place[0], place[1], place[2]};
    float3 x = first3(row[0]), y = first3(row[1]), z = first3(row[2]);
    float3 world = make_float3(dot(x, position) + row[0].w, dot(y, position) + row[1].w, dot(z, position) + row[2].w);
    float3 a = cross(y, z), b = cross(z, x), c = cross(x, y);  // cofactors turn normals
    float side = dot(x, a) < 0.0f ? -1.0f : 1.0f;
    float clip[4];
    for (int k = 0; k < 4; k++)
        clip[k] = draw.to_clip[k].x * world.x + draw.to_clip[k].y * world.y + draw.to_clip[k].z * world.z +
                  draw.to_clip[k].w;
    draw.clip[thread] = make_float4(clip[0], clip[1], clip[2], clip[3]);
    store3(draw.world_out, thread, world);
    store3(draw.normal_out, thread, side * make_float3(dot(a, normal), dot(b, normal), dot(c, normal)));
    draw.uv_out[2 * thread] = draw.uv[2 * vertex];
    draw.uv_out[2 * thread + 1] = draw.uv[2 * vertex + 1];
}

}  // namespace rayplay
