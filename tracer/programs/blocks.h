// What a thread of the path tracer keeps in memory.
//
// Optimised programs keep the payload there. The unoptimised one keeps what Vulkan-Sim's programs do, each variable in a
// block of 256 B of its own (`lsu.local_block_bytes`): the payload, the hit's barycentric coordinates and, new with every
// trace, the state of the ray, where a closest-hit program finds its direction
// (docs/sources/vulkan-sim.md#thread-variables, #dialect). Vulkan-Sim writes the latter two without taking time; here
// they are never written, so that all words that `read_hit` waits for are 0.
#pragma once

#include "scene.h"

namespace rayplay {

#ifdef RAYPLAY_WORD_BY_WORD

constexpr unsigned BLOCK_WORDS = 64, TRACES = 16;  // of more traces the first ones' blocks are used again
constexpr unsigned DIRECTION = 45;                 // word of a ray's state: byte 180 in vulkan_rt_thread_data.h

struct Variables {
    Payload payload;
    unsigned unused[BLOCK_WORDS - sizeof(Payload) / 4];
    float barycentrics[BLOCK_WORDS];
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

RAYPLAY_DEVICE float word(const float* address) {
    float value;
    asm volatile("ld.f32 %0, [%1];" : "=f"(value) : "l"(address));
    return value;
}

// The direction, once its four words in the ray's state and the barycentric coordinates have been read.
RAYPLAY_DEVICE float3 read_hit(float3 direction) {
    const Variables* variables = reinterpret_cast<const Variables*>(payload_of_ray());
    const float* state = variables->states[payload(1) >> 24] + DIRECTION;
    return direction + vector(word(state), word(state + 1), word(state + 2)) +
           vector(word(state + 3), word(variables->barycentrics), word(variables->barycentrics + 1));
}

#else

struct Variables {
    Payload payload;
};

RAYPLAY_DEVICE Payload* carried(Variables& variables, unsigned) { return &variables.payload; }

RAYPLAY_DEVICE Payload* payload_of_ray() { return payload_pointer<Payload>(); }

RAYPLAY_DEVICE float3 read_hit(float3 direction) { return direction; }

#endif

}  // namespace rayplay
