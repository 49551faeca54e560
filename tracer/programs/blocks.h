// What a thread's programs keep in memory, and how they read it.
//
// Optimised programs keep the payload there. The unoptimised ones keep what Vulkan-Sim's programs do, each variable in a
// block of 256 B of its own (`lsu.local_block_bytes`): the payload, the hit's attributes and, new with every trace, the
// state of the ray, where programs find its direction and origin (docs/sources/vulkan-sim.md#thread-variables, #dialect).
// Vulkan-Sim writes that state and a triangle's attributes without taking time; here they are never written, so that
// all words which `after_` functions wait for are 0. A vector is read whole before its first word is used
// (docs/sources/vulkan-sim.md#vectors).
#pragma once

#include "scene.h"

namespace rayplay {

#ifdef RAYPLAY_WORD_BY_WORD

constexpr unsigned BLOCK_WORDS = 64, TRACES = 16;    // of more traces the first ones' blocks are used again
constexpr unsigned DIRECTION = 45, ORIGIN = 48;      // words of a ray's state: Traversal_data in vulkan_rt_thread_data.h

struct Variables {
    Payload payload;
    unsigned unused[BLOCK_WORDS - sizeof(Payload) / 4];
    float attributes[BLOCK_WORDS];
    float states[TRACES][BLOCK_WORDS];
};

// What a ray carries: where the variables lie and, in the highest byte, the number of its state.
RAYPLAY_DEVICE Payload* carried(Variables& variables, unsigned long long trace) {
    return reinterpret_cast<Payload*>(reinterpret_cast<unsigned long long>(&variables) | trace % TRACES << 56);
}

RAYPLAY_DEVICE Payload* payload_of_ray() {
    const unsigned long long low = payload(0), high = payload(1) & 0xffffff;
    return reinterpret_cast<Payload*>(high << 32 | low);
}

RAYPLAY_DEVICE Variables* variables_of_ray() { return reinterpret_cast<Variables*>(payload_of_ray()); }

RAYPLAY_DEVICE const float* state_of_ray() { return variables_of_ray()->states[payload(1) >> 24]; }

RAYPLAY_DEVICE float3 after(float3 value, const Words4& words) {
    value.x += words.x, value.y += words.y, value.z += words.z;
    return value;
}

// A vector, once the ray's direction, its origin, both or the hit's attributes have been read.
RAYPLAY_DEVICE float3 after_direction(float3 value) { return after(value, read4(state_of_ray() + DIRECTION)); }

RAYPLAY_DEVICE float3 after_origin(float3 value) { return after(value, read4(state_of_ray() + ORIGIN)); }

RAYPLAY_DEVICE float3 after_ray(float3 value) {
    const float* state = state_of_ray();
    const Words4 origin = read4(state + ORIGIN), direction = read4(state + DIRECTION);
    return after(after(value, origin), direction);
}

RAYPLAY_DEVICE float3 after_attributes(float3 value) {
    const Words2 words = read2(variables_of_ray()->attributes);
    value.x += words.x, value.y += words.y;
    return value;
}

RAYPLAY_DEVICE void keep_attributes(const Words4& sphere) {
    float* attributes = variables_of_ray()->attributes;
    attributes[0] = sphere.x, attributes[1] = sphere.y, attributes[2] = sphere.z, attributes[3] = sphere.w;
}

// What a ray has brought back: the payload's first vector, or its first two.
template <bool with_scatter>
struct Found : Payload {
    inline __attribute__((always_inline)) __device__ Found(const Payload& payload) {
        const Words4 first = read4(&payload.colour);
        if (with_scatter) {
            const Words4 second = read4(&payload.scatter);
            scatter.x = second.x, scatter.y = second.y, scatter.z = second.z, scatters = __float_as_uint(second.w);
        }
        colour.x = first.x, colour.y = first.y, colour.z = first.z, distance = first.w;
    }
};

#else

struct Variables {
    Payload payload;
};

RAYPLAY_DEVICE Payload* carried(Variables& variables, unsigned) { return &variables.payload; }

RAYPLAY_DEVICE Payload* payload_of_ray() { return payload_pointer<Payload>(); }

RAYPLAY_DEVICE float3 after_direction(float3 value) { return value; }

RAYPLAY_DEVICE float3 after_origin(float3 value) { return value; }

RAYPLAY_DEVICE float3 after_ray(float3 value) { return value; }

RAYPLAY_DEVICE float3 after_attributes(float3 value) { return value; }

RAYPLAY_DEVICE void keep_attributes(const Words4&) {}

template <bool>
using Found = const Payload&;

#endif

}  // namespace rayplay
