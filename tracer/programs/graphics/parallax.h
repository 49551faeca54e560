// Where the view meets a surface with depth: a height map holds how deep it is, white is deepest.
// Source: N. Tatarchuk, "Practical parallax occlusion mapping", SIGGRAPH 2006 course.
#pragma once

#include "fragments.h"

namespace rayplay {

constexpr int DEPTH_STEPS = 8;
constexpr float DEEPEST = 0.04f;  // in units of the texture

__device__ inline Coordinates hit_of_view(const Fragment& f) {
    Frame frame = frame_of(f);
    float3 to_eye = normalised(first3(draw.eye) - f.world);
    float facing = fmaxf(dot(f.normal, to_eye), 0.2f);
    float u = -DEEPEST / DEPTH_STEPS * dot(frame.tangent, to_eye) / facing;
    float v = -DEEPEST / DEPTH_STEPS * dot(frame.bitangent, to_eye) / facing;
    Coordinates at = f.at;
    float deep = sample(HEIGHT, at).x, before = deep;
    int step = 0;
    while (step < DEPTH_STEPS && step < deep * DEPTH_STEPS) {
        before = deep - float(step) / DEPTH_STEPS;
        step++;
        at.u += u;
        at.v += v;
        deep = sample(HEIGHT, at).x;
    }
    float beyond = float(step) / DEPTH_STEPS - deep, back = step ? beyond / fmaxf(before + beyond, 1e-6f) : 0.0f;
    at.u -= back * u;
    at.v -= back * v;
    return at;
}

}  // namespace rayplay
