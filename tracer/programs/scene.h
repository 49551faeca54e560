// What the host lays out in device memory for the built-in programs; tracer/shading/upload.py and the .toml files fill it.
#pragma once

#include "vector_math.h"

namespace rayplay {

// Two to four words. An unoptimised program reads and writes them one by one, as NIR's translation to PTX does, and reads
// all of a vector before it uses the first (docs/sources/vulkan-sim.md#vectors).
struct Words2 { float x, y; };
struct Words3 { float x, y, z; };
#ifdef RAYPLAY_WORD_BY_WORD
struct Words4 { float x, y, z, w; };
constexpr int STRUCTURE_BYTES = 4;

RAYPLAY_DEVICE Words2 read2(const void* address) {
    Words2 words;
    asm volatile("ld.f32 %0, [%2];\n\tld.f32 %1, [%2+4];" : "=f"(words.x), "=f"(words.y) : "l"(address) : "memory");
    return words;
}

RAYPLAY_DEVICE Words3 read3(const void* address) {
    Words3 words;
    asm volatile("ld.f32 %0, [%3];\n\tld.f32 %1, [%3+4];\n\tld.f32 %2, [%3+8];"
                 : "=f"(words.x), "=f"(words.y), "=f"(words.z) : "l"(address) : "memory");
    return words;
}

RAYPLAY_DEVICE Words4 read4(const void* address) {
    Words4 words;
    asm volatile("ld.f32 %0, [%4];\n\tld.f32 %1, [%4+4];\n\tld.f32 %2, [%4+8];\n\tld.f32 %3, [%4+12];"
                 : "=f"(words.x), "=f"(words.y), "=f"(words.z), "=f"(words.w) : "l"(address) : "memory");
    return words;
}
#else
using Words4 = float4;
constexpr int STRUCTURE_BYTES = 16;

RAYPLAY_DEVICE Words3 read3(const float* address) { return {address[0], address[1], address[2]}; }

RAYPLAY_DEVICE Words4 read4(const Words4* address) { return *address; }
#endif

enum MaterialModel : unsigned { LAMBERTIAN = 0, METALLIC = 1, DIELECTRIC = 2, DIFFUSE_LIGHT = 3 };

// 64 bytes, read as vectors of four words.
struct Material {
    Words4 albedo_fuzz;
    Words4 emission_ior;
    unsigned model, alpha_width, alpha_height;
    float alpha_cutoff;
    const unsigned char* alpha_texels;
    unsigned long long padding;
};

// One record per geometry: positions, vertex numbers, texture coordinates and normals (null where the mesh has none) of
// its triangles, and which of the scene's materials each triangle has.
struct TriangleRecord {
    const float* positions;
    const unsigned* indices;
    const float2* uvs;
    const float* normals;
    const unsigned short* material_numbers;
    const Material* materials;
};

// Handles of a material's textures, 0 for none: base colour with alpha, and emission.
struct Maps {
    unsigned long long base_color, emissive;
};

// A record of triangles with textured materials.
struct TexturedRecord : TriangleRecord {
    const Maps* maps;
};

// Centre and radius of each sphere, and its material.
struct SphereRecord {
    const Words4* spheres;
    const unsigned short* material_numbers;
    const Material* materials;
};

struct Camera {
    float3 eye, right, up, forward;
    float lens_radius, focus_distance;
};

struct Params {
    Words4* image;
    unsigned long long scene;
    const Words4* world_to_object;
    const Words4* lights;
    unsigned width, height;
    unsigned samples, bounces;
    unsigned seed, light_count;
    unsigned secondary_rays, has_sky;
    Camera camera;
    float3 sky_bottom, sky_top;
    float secondary_tmax, secondary_offset;
};

// What a ray brings back, in the local memory of the thread that traced it: 48 bytes.
struct alignas(STRUCTURE_BYTES) Payload {
    float3 colour;
    float distance;  // negative after a miss
    float3 scatter;
    unsigned scatters;
    float3 normal;
    unsigned seed;
};

}  // namespace rayplay

extern "C" {
__constant__ rayplay::Params params;
}
