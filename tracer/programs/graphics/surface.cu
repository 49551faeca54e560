// Shaders of textured surfaces: a vertex shader, a basic fragment shader and a physically based one.
// Sources: glTF 2.0 specification, appendix B (metallic-roughness BRDF); Mikkelsen, "Surface gradient-based bump
// mapping framework", JCGT 9 (2020), for tangents from derivatives.

#include "graphics.h"

using namespace rayplay;

constexpr float PI = 3.14159265f;

// One invocation a thread: its instance is the number over the length of the list of vertices.
extern "C" __global__ void vertex_main() {
    unsigned thread = thread_number();
    if (thread >= draw.invocations) return;
    unsigned vertex = draw.vertices[thread % draw.length];
    const float4* place = draw.places + 3 * (thread / draw.length);
    float3 position = load3(draw.positions, vertex), normal = load3(draw.normals, vertex);
    float4 row[3] = {place[0], place[1], place[2]};
    float3 x = make_float3(row[0].x, row[0].y, row[0].z), y = make_float3(row[1].x, row[1].y, row[1].z),
           z = make_float3(row[2].x, row[2].y, row[2].z);
    float3 world = make_float3(dot(x, position) + row[0].w, dot(y, position) + row[1].w, dot(z, position) + row[2].w);
    float3 a = cross(y, z), b = cross(z, x), c = cross(x, y);  // cofactors turn normals
    float side = dot(x, a) < 0.0f ? -1.0f : 1.0f;
    float clip[4];
    for (int k = 0; k < 4; k++)
        clip[k] = view.clip[4 * k] * world.x + view.clip[4 * k + 1] * world.y + view.clip[4 * k + 2] * world.z +
                  view.clip[4 * k + 3];
    draw.clip[thread] = make_float4(clip[0], clip[1], clip[2], clip[3]);
    store3(draw.world_out, thread, world);
    store3(draw.normal_out, thread, side * make_float3(dot(a, normal), dot(b, normal), dot(c, normal)));
    draw.uv_out[2 * thread] = draw.uv[2 * vertex];
    draw.uv_out[2 * thread + 1] = draw.uv[2 * vertex + 1];
}

struct Fragment {
    unsigned thread;
    Coordinates at;
    float3 world, normal;
    float4 color;
};

// Varyings, and the colour of the surface; the normal of the triangle itself where the file has none.
__device__ Fragment begin_fragment() {
    Fragment f;
    f.thread = thread_number();
    f.at = quad_coordinates(f.thread);
    f.world = load3(draw.world, f.thread);
    f.normal = load3(draw.normal, f.thread);
    float3 x = make_float3(along_x(f.world.x), along_x(f.world.y), along_x(f.world.z));
    float3 y = make_float3(along_y(f.world.x), along_y(f.world.y), along_y(f.world.z));
    float3 flat = cross(y, x);
    float3 to_eye = first3(view.eye) - f.world;
    if (dot(f.normal, f.normal) < 1e-12f) f.normal = flat;
    f.normal = normalised(f.normal);
    if (dot(f.normal, to_eye) < 0.0f) f.normal = -1.0f * f.normal;
    f.color = make_float4(draw.base_color[0], draw.base_color[1], draw.base_color[2], draw.base_color[3]);
    if (has(BASE_COLOR)) {
        float4 texel = sample(BASE_COLOR, f.at);
        f.color = make_float4(f.color.x * texel.x, f.color.y * texel.y, f.color.z * texel.z, f.color.w * texel.w);
    }
    return f;
}

// The colour of a live thread that is not cut out goes to its slot of the target.
__device__ void end_fragment(const Fragment& f, float3 radiance) {
    unsigned slot = draw.slots[f.thread];
    if (slot == NOT_LIVE || f.color.w < draw.cutoff) return;
    draw.target[slot] = make_float4(radiance.x, radiance.y, radiance.z, f.color.w);
}

extern "C" __global__ void fragment_lit() {
    Fragment f = begin_fragment();
    float3 color = make_float3(f.color.x, f.color.y, f.color.z);
    float facing = fmaxf(dot(f.normal, first3(view.to_light)), 0.0f);
    end_fragment(f, color * (first3(view.ambient) + (facing / PI) * first3(view.light)));
}

__device__ float3 bumped(const Fragment& f) {
    float4 texel = sample(NORMAL, f.at);
    float3 x = make_float3(along_x(f.world.x), along_x(f.world.y), along_x(f.world.z));
    float3 y = make_float3(along_y(f.world.x), along_y(f.world.y), along_y(f.world.z));
    float3 across = cross(y, f.normal), down = cross(f.normal, x);
    float3 tangent = f.at.along_x.x * across + f.at.along_y.x * down;
    float3 bitangent = f.at.along_x.y * across + f.at.along_y.y * down;
    float scale = rsqrtf(fmaxf(fmaxf(dot(tangent, tangent), dot(bitangent, bitangent)), 1e-20f));
    float side = dot(cross(x, y), f.normal) < 0.0f ? -1.0f : 1.0f;
    return normalised(
        (2.0f * texel.x - 1.0f) * side * scale * tangent - (2.0f * texel.y - 1.0f) * side * scale * bitangent +
        (2.0f * texel.z - 1.0f) * f.normal);
}

extern "C" __global__ void fragment_pbr() {
    Fragment f = begin_fragment();
    float3 color = make_float3(f.color.x, f.color.y, f.color.z);
    float metallic = draw.metallic, roughness = draw.roughness, open = 1.0f;
    float3 glow = first3(draw.emissive), normal = f.normal;
    if (has(METALLIC_ROUGHNESS)) {
        float4 texel = sample(METALLIC_ROUGHNESS, f.at);
        roughness *= texel.y;
        metallic *= texel.z;
    }
    if (has(OCCLUSION)) open = sample(OCCLUSION, f.at).x;
    if (has(EMISSIVE)) {
        float4 texel = sample(EMISSIVE, f.at);
        glow = glow * make_float3(texel.x, texel.y, texel.z);
    }
    if (has(NORMAL)) normal = bumped(f);
    float3 to_eye = normalised(first3(view.eye) - f.world), to_light = first3(view.to_light);
    float3 half = normalised(to_eye + to_light);
    float lit = fmaxf(dot(normal, to_light), 0.0f), seen = fmaxf(dot(normal, to_eye), 1e-4f);
    float alpha = fmaxf(roughness * roughness, 1e-3f), squared = alpha * alpha;
    float towards = fmaxf(dot(normal, half), 0.0f), bent = fmaxf(dot(to_eye, half), 0.0f);
    float spread = towards * towards * (squared - 1.0f) + 1.0f;
    float distribution = squared / (PI * spread * spread);
    float visible = 0.5f / fmaxf(lit * sqrtf(seen * seen * (1.0f - squared) + squared) +
                                     seen * sqrtf(lit * lit * (1.0f - squared) + squared), 1e-6f);
    float grazing = 1.0f - bent, fifth = grazing * grazing * grazing * grazing * grazing;
    float3 straight = (1.0f - metallic) * make_float3(0.04f, 0.04f, 0.04f) + metallic * color;
    float3 fresnel = straight + fifth * (make_float3(1.0f, 1.0f, 1.0f) - straight);
    float3 diffuse = (1.0f - metallic) / PI * color;
    float3 through = make_float3(1.0f, 1.0f, 1.0f) - fresnel;
    float3 reflected = through * diffuse + distribution * visible * fresnel;
    float3 around = open * (first3(view.ambient) * ((1.0f - metallic) * color + 0.5f * straight));
    end_fragment(f, lit * (reflected * first3(view.light)) + around + glow);
}
