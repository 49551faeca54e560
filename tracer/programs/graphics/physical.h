// A physically based surface with eight maps: five of its own, three of the light around it.
// Sources: glTF 2.0 specification, appendix B (metallic-roughness BRDF); B. Karis, "Real shading in Unreal Engine 4",
// 2013 (light from around as a prefiltered environment times a look-up table).
#pragma once

#include "fragments.h"

namespace rayplay {

constexpr float MOST_LEVEL = 4.0f;  // last level of the prefiltered environment, of roughness 1

__device__ inline float3 bumped(const Fragment& f) {
    float4 texel = sample(NORMAL, f.at);
    Frame frame = frame_of(f);
    return normalised((2.0f * texel.x - 1.0f) * frame.tangent - (2.0f * texel.y - 1.0f) * frame.bitangent +
                      (2.0f * texel.z - 1.0f) * f.normal);
}

struct Matter {
    float3 color, straight;  // straight: reflectance at normal incidence
    float metallic, roughness;
};

// Light of the sun that the surface sends to the eye, for normals and directions of length 1.
__device__ inline float3 of_the_sun(const Matter& m, float3 normal, float3 to_eye) {
    float3 to_light = first3(draw.to_light), half = normalised(to_eye + to_light);
    float lit = fmaxf(dot(normal, to_light), 0.0f), seen = fmaxf(dot(normal, to_eye), 1e-4f);
    float alpha = fmaxf(m.roughness * m.roughness, 1e-3f), squared = alpha * alpha;
    float towards = fmaxf(dot(normal, half), 0.0f), bent = fmaxf(dot(to_eye, half), 0.0f);
    float spread = towards * towards * (squared - 1.0f) + 1.0f;
    float distribution = squared / (PI * spread * spread);
    float visible = 0.5f / fmaxf(lit * sqrtf(seen * seen * (1.0f - squared) + squared) +
                                     seen * sqrtf(lit * lit * (1.0f - squared) + squared), 1e-6f);
    float grazing = 1.0f - bent, fifth = grazing * grazing * grazing * grazing * grazing;
    float3 fresnel = m.straight + fifth * (grey(1.0f) - m.straight);
    float3 diffuse = (1.0f - m.metallic) / PI * m.color;
    return lit * ((grey(1.0f) - fresnel) * diffuse + distribution * visible * fresnel) * first3(draw.light);
}

// Light from around; what is not reflected enters and leaves as diffuse light.
__device__ inline float3 from_around(const Matter& m, float3 normal, float3 to_eye) {
    float seen = fmaxf(dot(normal, to_eye), 0.0f), level = fminf(fmaxf(m.roughness, 0.0f), 1.0f) * MOST_LEVEL;
    float3 mirror = 2.0f * dot(normal, to_eye) * normal - to_eye;
    float4 even = texCubemap<float4>(draw.maps[IRRADIANCE], normal.x, normal.y, normal.z);
    float4 there = texCubemapLod<float4>(draw.maps[PREFILTERED], mirror.x, mirror.y, mirror.z, level);
    float2 share = tex2D<float2>(draw.maps[BRDF], seen, m.roughness);
    float3 reflected = share.x * m.straight + grey(share.y), part = (1.0f - m.metallic) * m.color;
    return (grey(1.0f) - reflected) * part * first3(even) + reflected * first3(there);
}

__device__ inline float3 physical(const Fragment& f) {
    Matter m = {first3(f.color), grey(0.04f), draw.metallic, draw.roughness};
    float3 glow = first3(draw.emissive), normal = f.normal;
    float open = 1.0f;
    if (has(METALLIC_ROUGHNESS)) {
        float4 texel = sample(METALLIC_ROUGHNESS, f.at);
        m.roughness *= texel.y;
        m.metallic *= texel.z;
    }
    if (has(OCCLUSION)) open = sample(OCCLUSION, f.at).x;
    if (has(EMISSIVE)) glow = glow * first3(sample(EMISSIVE, f.at));
    if (has(NORMAL)) normal = bumped(f);
    m.straight = (1.0f - m.metallic) * m.straight + m.metallic * m.color;
    float3 to_eye = normalised(first3(draw.eye) - f.world);
    return of_the_sun(m, normal, to_eye) + open * from_around(m, normal, to_eye) + glow;
}

}  // namespace rayplay
