// What happens where a ray ends: closest-hit programs for triangles and spheres, alpha test, sphere test, sky.
//
// The closest-hit programs evaluate the material and leave colour, distance, normal and the scattered direction in
// the caller's payload, as LumiBench's do; the loop over bounces stands in the ray generation programs.
#pragma once

#include "blocks.h"
#include "random.h"

namespace rayplay {

// World-space unit normal from one in object space: the transposed inverse of the instance's matrix.
RAYPLAY_DEVICE float3 normal_to_world(float3 normal) {
    const Words4* rows = params.world_to_object + 3 * instance_index();
    const Words4 a = read4(rows), b = read4(rows + 1), c = read4(rows + 2);
    return normalised(vector(a.x * normal.x + b.x * normal.y + c.x * normal.z,
                             a.y * normal.x + b.y * normal.y + c.y * normal.z,
                             a.z * normal.x + b.z * normal.y + c.z * normal.z));
}

RAYPLAY_DEVICE float3 scatter_dielectric(float3 direction, float3 normal, float ior, unsigned& seed) {
    const float along = dot(direction, normal);
    const bool leaving = along > 0.0f;
    const float3 outward = leaving ? -normal : normal;
    const float ratio = leaving ? ior : approximate_reciprocal(ior);
    const float cosine = leaving ? along : -along;
    const float squared = 1.0f - ratio * ratio * (1.0f - cosine * cosine);
    const float base = (1.0f - ior) * approximate_reciprocal(1.0f + ior);
    const float grazing = 1.0f - (leaving ? ior * along : cosine);
    const float grazing2 = grazing * grazing;
    const float schlick = base * base + (1.0f - base * base) * grazing2 * grazing2 * grazing;
    if (squared <= 0.0f || uniform(seed) < schlick) return reflected(direction, outward);
    return ratio * direction + (ratio * cosine - approximate_sqrt(squared)) * outward;
}

// Texture coordinates of the hit.
RAYPLAY_DEVICE Words2 interpolated_uv(const TriangleRecord* record) {
    const unsigned* corner = record->indices + 3 * primitive_index();
    const float2 a = record->uvs[corner[0]], b = record->uvs[corner[1]], c = record->uvs[corner[2]];
    const float2 weight = triangle_barycentrics();
    const float first = 1.0f - weight.x - weight.y;
    return {first * a.x + weight.x * b.x + weight.y * c.x, first * a.y + weight.x * b.y + weight.y * c.y};
}

// A colour times a texture's, where there is one: of the largest level, since a ray has no derivatives.
RAYPLAY_DEVICE float3 tinted(float3 colour, unsigned long long handle, Words2 uv) {
    if (handle == 0) return colour;
    const float4 found = tex2D<float4>(handle, uv.x, uv.y);
    return colour * vector(found.x, found.y, found.z);
}

// What a hit leaves in the payload. A textured surface has two sides. Where it shines and scatters, half of the rays
// take each part at twice its weight.
template <bool textured = false>
RAYPLAY_DEVICE void shade(Payload* payload, const Material* material, float3 normal, const Maps* maps = nullptr,
                          Words2 uv = {}) {
    const Words4 albedo_fuzz = read4(&material->albedo_fuzz), emission_ior = read4(&material->emission_ior);
    const unsigned model = material->model;
    const float3 direction = normalised(after_direction(world_ray_direction()));
    const float3 facing = dot(direction, normal) > 0.0f ? -normal : normal;
    float3 colour = vector(albedo_fuzz.x, albedo_fuzz.y, albedo_fuzz.z);
    float3 emission;
    if constexpr (textured) {
        normal = facing;
        colour = tinted(colour, maps->base_color, uv);
        emission = tinted(vector(emission_ior.x, emission_ior.y, emission_ior.z), maps->emissive, uv);
    }
    float3 scatter = facing;
    bool scatters = true;
    unsigned seed = payload->seed;
    if (model == LAMBERTIAN || model == METALLIC) {
        const float3 centre = model == LAMBERTIAN ? normal : reflected(direction, normal);
        scatter = centre + (model == LAMBERTIAN ? 1.0f : albedo_fuzz.w) * point_in_sphere(seed);
        scatters = dot(direction, normal) < 0.0f;  // a path ends at a back face
        if (!scatters) colour = vector(0.0f, 0.0f, 0.0f);
    } else if (model == DIELECTRIC) {
        colour = vector(1.0f, 1.0f, 1.0f);
        scatter = scatter_dielectric(direction, normal, emission_ior.w, seed);
    } else {
        colour = vector(emission_ior.x, emission_ior.y, emission_ior.z);
        scatters = false;
    }
    if constexpr (textured) {
        if (model == DIFFUSE_LIGHT) {
            colour = emission;
        } else if (emission.x + emission.y + emission.z > 0.0f) {
            scatters = uniform(seed) < 0.5f;
            colour = 2.0f * (scatters ? colour : emission);
        }
    }
    if (dot(scatter, scatter) < 1e-12f) scatter = facing;
    payload->colour = colour;
    payload->distance = ray_tmax();
    payload->scatter = normalised(scatter);
    payload->scatters = scatters;
    payload->normal = facing;
    payload->seed = seed;
}

}  // namespace rayplay

namespace rayplay {

// The hit's normal in object space: of the vertices, or of the triangle where the mesh has none.
RAYPLAY_DEVICE float3 triangle_normal(const TriangleRecord* record) {
    const unsigned* corner = record->indices + 3 * primitive_index();
    const float* table = record->normals != nullptr ? record->normals : record->positions;
    const float *a = table + 3 * corner[0], *b = table + 3 * corner[1], *c = table + 3 * corner[2];
    const Words3 at_a = read3(a), at_b = read3(b), at_c = read3(c);
    const float3 first = vector(at_a.x, at_a.y, at_a.z), second = vector(at_b.x, at_b.y, at_b.z);
    const float3 third = vector(at_c.x, at_c.y, at_c.z);
    if (record->normals == nullptr) return cross(second - first, third - first);
    const float2 weight = triangle_barycentrics();
    return (1.0f - weight.x - weight.y) * first + weight.x * second + weight.y * third;
}

}  // namespace rayplay

extern "C" __global__ void __closesthit__triangle() {
    using namespace rayplay;
    const TriangleRecord* record = sbt_data<TriangleRecord>();
    const float3 normal = triangle_normal(record);
    const Material* material = record->materials + record->material_numbers[primitive_index()];
    shade(payload_of_ray(), material, normal_to_world(after_attributes(normal)));
}

extern "C" __global__ void __closesthit__sphere() {
    using namespace rayplay;
    const SphereRecord* record = sbt_data<SphereRecord>();
    const float3 normal = after_origin(
        vector(__uint_as_float(attribute_0()), __uint_as_float(attribute_1()), __uint_as_float(attribute_2())));
    const Material* material = record->materials + record->material_numbers[primitive_index()];
    shade(payload_of_ray(), material, normal_to_world(normal));
}

// Alpha test: texture coordinates wrap, (0, 0) is the top left texel, the nearest texel decides.
extern "C" __global__ void __anyhit__alpha() {
    using namespace rayplay;
    const TriangleRecord* record = sbt_data<TriangleRecord>();
    const Material* material = record->materials + record->material_numbers[primitive_index()];
    Words2 uv = interpolated_uv(record);
    uv.x -= floorf(uv.x);
    uv.y -= floorf(uv.y);
    const unsigned width = material->alpha_width, height = material->alpha_height;
    const unsigned column = min(static_cast<unsigned>(uv.x * width), width - 1);
    const unsigned row = min(static_cast<unsigned>(uv.y * height), height - 1);
    const unsigned char texel = material->alpha_texels[row * width + column];
    if (texel < 255.0f * material->alpha_cutoff) ignore_intersection();
}

// The nearer of the two crossings that lies in the ray's interval; the attributes are the outward normal.
extern "C" __global__ void __intersection__sphere() {
    using namespace rayplay;
    const SphereRecord* record = sbt_data<SphereRecord>();
    const Words4 sphere = read4(record->spheres + primitive_index());
    const float3 direction = after_ray(object_ray_direction());
    float3 offset = object_ray_origin();
    offset.x -= sphere.x, offset.y -= sphere.y, offset.z -= sphere.z;
    const float a = dot(direction, direction);
    const float inverse = approximate_reciprocal(a);
    const float half = -dot(offset, direction);
    const float3 perpendicular = offset + half * inverse * direction;
    const float discriminant = sphere.w * sphere.w - dot(perpendicular, perpendicular);
    if (discriminant < 0.0f) return;
    const float root = approximate_sqrt(discriminant * a);
    const float q = half < 0.0f ? half - root : half + root;  // no cancellation: the other crossing is c / q
    const float c = dot(offset, offset) - sphere.w * sphere.w;
    const float first = q * inverse, second = q == 0.0f ? first : c * approximate_reciprocal(q);
    const float near = fminf(first, second), far = fmaxf(first, second);
    const float tmin = ray_tmin();
    const float t = near > tmin ? near : far;
    if (t <= tmin || t >= ray_tmax()) return;
    const float3 normal = approximate_reciprocal(sphere.w) * (offset + t * direction);
    keep_attributes(sphere);
    report_intersection(t, 0, __float_as_uint(normal.x), __float_as_uint(normal.y), __float_as_uint(normal.z));
}

extern "C" __global__ void __miss__sky() {
    using namespace rayplay;
    float3 direction = world_ray_direction();
    if (params.has_sky) direction = after_direction(direction);
    const float share = 0.5f * (normalised(direction).y + 1.0f);
    Payload* payload = payload_of_ray();
    payload->colour = params.sky_bottom + share * (params.sky_top - params.sky_bottom);
    payload->distance = -1.0f;
    payload->scatters = 0;
}

// Shadow and occlusion rays run no closest-hit program: reaching this one means that nothing was in the way.
extern "C" __global__ void __miss__visible() { rayplay::payload_of_ray()->distance = -1.0f; }

extern "C" __global__ void __closesthit__textured() {
    using namespace rayplay;
    const TexturedRecord* record = sbt_data<TexturedRecord>();
    const float3 normal = triangle_normal(record);
    const unsigned number = record->material_numbers[primitive_index()];
    shade<true>(payload_of_ray(), record->materials + number, normal_to_world(after_attributes(normal)),
                record->maps + number, interpolated_uv(record));
}

// Alpha test by the base colour's texture.
extern "C" __global__ void __anyhit__textured_alpha() {
    using namespace rayplay;
    const TexturedRecord* record = sbt_data<TexturedRecord>();
    const unsigned number = record->material_numbers[primitive_index()];
    const Words2 uv = interpolated_uv(record);
    const float alpha = tex2D<float4>(record->maps[number].base_color, uv.x, uv.y).w;
    if (alpha < record->materials[number].alpha_cutoff) ignore_intersection();
}
