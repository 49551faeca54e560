// Shaders of textured surfaces: vertices, and fragments in the light of the sun with a constant ambient part.

#include "vertices.h"
#include "fragments.h"
#include "physical.h"
#include "parallax.h"

using namespace rayplay;

template <bool COLORED>
__device__ inline void shade_vertex() {
    unsigned thread = thread_number();
    if (thread >= draw.invocations) return;
    unsigned vertex = draw.vertices[thread % draw.length];
    finish_vertex(thread, vertex, draw.places + 3 * (thread / draw.length), load3(draw.positions, vertex),
                  load3(draw.normals, vertex));
    if (COLORED) draw.color_out[thread] = draw.colors[vertex];
}

// Attributes of the instance's record turn, scale and move the vertex before the node's matrix does.
template <bool COLORED>
__device__ inline void shade_instance() {
    unsigned thread = thread_number();
    if (thread >= draw.invocations) return;
    unsigned vertex = draw.vertices[thread % draw.length];
    const float4* record = draw.instances + 2 * (thread / draw.length);
    float4 first = record[0], second = record[1];
    float3 angles = make_float3(first.w, second.x, second.y);
    float3 position = first3(first) + turned(second.z * load3(draw.positions, vertex), angles);
    finish_vertex(thread, vertex, draw.places, position, turned(load3(draw.normals, vertex), angles));
    draw.layer_out[thread] = float(__float_as_uint(second.w));
    if (COLORED) draw.color_out[thread] = draw.colors[vertex];
}

extern "C" __global__ void vertex_main() { shade_vertex<false>(); }
extern "C" __global__ void vertex_instanced() { shade_instance<false>(); }

template <bool MERGES, bool COLORED = false>
__device__ inline void shade_lit() {
    Fragment f = begin_fragment<MERGES, COLORED>();
    if (has(BASE_COLOR)) tint(f, sample(BASE_COLOR, f.at));
    end_fragment<MERGES>(f, lambert(f));
}

template <bool MERGES, bool COLORED = false>
__device__ inline void shade_instanced() {
    Fragment f = begin_fragment<MERGES, COLORED>();
    if (has(LAYERS)) tint(f, sample_layer(LAYERS, f.at, int(draw.layer[f.thread] + 0.5f)));
    end_fragment<MERGES>(f, lambert(f));
}

template <bool MERGES, bool COLORED = false>
__device__ inline void shade_pbr() {
    Fragment f = begin_fragment<MERGES, COLORED>();
    if (has(BASE_COLOR)) tint(f, sample(BASE_COLOR, f.at));
    end_fragment<MERGES>(f, physical(f));
}

template <bool MERGES, bool COLORED = false>
__device__ inline void shade_ball() {
    Fragment f = begin_fragment<MERGES, COLORED>();
    if (has(HEIGHT)) f.at = hit_of_view(f);
    if (has(BASE_COLOR)) tint(f, sample(BASE_COLOR, f.at));
    end_fragment<MERGES>(f, physical(f));
}

extern "C" __global__ void fragment_lit() { shade_lit<false>(); }
extern "C" __global__ void fragment_instanced() { shade_instanced<false>(); }
extern "C" __global__ void fragment_pbr() { shade_pbr<false>(); }
extern "C" __global__ void fragment_ball() { shade_ball<false>(); }

// The same with the output merger's traffic.
extern "C" __global__ void fragment_lit_merged() { shade_lit<true>(); }
extern "C" __global__ void fragment_instanced_merged() { shade_instanced<true>(); }
extern "C" __global__ void fragment_pbr_merged() { shade_pbr<true>(); }
extern "C" __global__ void fragment_ball_merged() { shade_ball<true>(); }

// Draws whose vertices have colours, which multiply the base colour.
extern "C" __global__ void vertex_colored() { shade_vertex<true>(); }
extern "C" __global__ void vertex_instanced_colored() { shade_instance<true>(); }
extern "C" __global__ void fragment_lit_colored() { shade_lit<false, true>(); }
extern "C" __global__ void fragment_instanced_colored() { shade_instanced<false, true>(); }
extern "C" __global__ void fragment_pbr_colored() { shade_pbr<false, true>(); }
extern "C" __global__ void fragment_ball_colored() { shade_ball<false, true>(); }
extern "C" __global__ void fragment_lit_colored_merged() { shade_lit<true, true>(); }
extern "C" __global__ void fragment_instanced_colored_merged() { shade_instanced<true, true>(); }
extern "C" __global__ void fragment_pbr_colored_merged() { shade_pbr<true, true>(); }
extern "C" __global__ void fragment_ball_colored_merged() { shade_ball<true, true>(); }
