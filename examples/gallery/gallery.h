// What the programs of the gallery share: launch parameters, camera, random numbers, materials, records of geometry.
#pragma once

#include "vector_math.h"

namespace gallery {

using namespace rayplay;

constexpr float TMIN = 0.001f, TMAX = 1e4f, PI = 3.14159265f;

enum Model : unsigned { LAMBERTIAN = 0, METALLIC = 1, DIELECTRIC = 2, DIFFUSE_LIGHT = 3 };

// 64 bytes, as the simulator lays materials out (docs/programs.md).
struct Material {
    float4 albedo_fuzz, emission_ior;
    unsigned model, alpha_width, alpha_height;
    float alpha_cutoff;
    const unsigned char* alpha_texels;
    unsigned long long padding;
};

struct Triangles {
    const float* positions;
    const unsigned* indices;
    const float2* uvs;
    const unsigned short* material_numbers;
};

struct Spheres {
    const float4* spheres;
    const unsigned short* material_numbers;
};

// Filled by the .toml of each program, which has the same fields in the same order.
struct Params {
    float4* image;
    unsigned long long scene;
    const float4* world_to_object;
    const Material* materials;
    unsigned width, height, samples, bounces, seed;
    float3 eye, right, up, forward;
    float lens_radius, focus_distance;
    float3 sky_bottom, sky_top;
    float3 light, lamp_corner, lamp_first, lamp_second;  // direction to the sun; the rectangle of the lamp
    float reach;                                         // of rays that look for what is near
};

struct Ray {
    float3 origin, direction;
};

// A random number of its own for every pixel, sample and draw.
struct Random {
    unsigned state;
};

RAYPLAY_DEVICE unsigned hash(unsigned x) {
    x = (x ^ x >> 16) * 0x7feb352du;
    x = (x ^ x >> 15) * 0x846ca68bu;
    return x ^ x >> 16;
}

RAYPLAY_DEVICE float uniform(Random& random) {
    random.state = random.state * 747796405u + 2891336453u;
    const unsigned word = ((random.state >> ((random.state >> 28) + 4)) ^ random.state) * 277803737u;
    return static_cast<float>((word >> 22 ^ word) >> 8) * (1.0f / 16777216.0f);
}

RAYPLAY_DEVICE float3 direction_around(float cosine, float angle) {
    const float sine = approximate_sqrt(fmaxf(0.0f, 1.0f - cosine * cosine));
    return vector(sine * __cosf(angle), sine * __sinf(angle), cosine);
}

RAYPLAY_DEVICE float3 point_in_ball(Random& random) {
    const float3 direction = direction_around(1.0f - 2.0f * uniform(random), 2.0f * PI * uniform(random));
    return __powf(uniform(random), 1.0f / 3.0f) * direction;
}

// A direction given about the z axis, about a normal instead.
RAYPLAY_DEVICE float3 turned(float3 local, float3 normal) {
    const float sign = normal.z < 0.0f ? -1.0f : 1.0f;
    const float a = -approximate_reciprocal(sign + normal.z), b = normal.x * normal.y * a;
    const float3 first = vector(1.0f + sign * normal.x * normal.x * a, sign * b, -sign * normal.x);
    const float3 second = vector(b, sign + normal.y * normal.y * a, -normal.y);
    return local.x * first + local.y * second + local.z * normal;
}

RAYPLAY_DEVICE float3 mixed(float3 a, float3 b, float share) { return a + share * (b - a); }

RAYPLAY_DEVICE float3 black() { return vector(0.0f, 0.0f, 0.0f); }

}  // namespace gallery

extern "C" {
__constant__ gallery::Params params;
}

namespace gallery {

RAYPLAY_DEVICE unsigned pixel_index() { return launch_index_y() * params.width + launch_index_x(); }

RAYPLAY_DEVICE Random random_of(unsigned sample) {
    return {hash(pixel_index() ^ hash(sample * 0x9e3779b9u ^ hash(params.seed)))};
}

// Through a point of the pixel and of the lens; a pinhole has radius 0.
RAYPLAY_DEVICE Ray camera_ray(float x, float y, float2 lens) {
    const float u = 2.0f * (launch_index_x() + x) / params.width - 1.0f;
    const float v = 1.0f - 2.0f * (launch_index_y() + y) / params.height;
    const float3 offset = lens.x * normalised(params.right) + lens.y * normalised(params.up);
    const float3 direction = params.forward + u * params.right + v * params.up;
    return {params.eye + offset, normalised(params.focus_distance * direction - offset)};
}

RAYPLAY_DEVICE Ray centre_ray() { return camera_ray(0.5f, 0.5f, make_float2(0.0f, 0.0f)); }

RAYPLAY_DEVICE Ray random_ray(Random& random) {
    const float x = uniform(random), y = uniform(random), angle = 2.0f * PI * uniform(random);
    const float radius = params.lens_radius * approximate_sqrt(uniform(random));
    return camera_ray(x, y, make_float2(radius * __cosf(angle), radius * __sinf(angle)));
}

RAYPLAY_DEVICE void store(float3 colour) {
    params.image[pixel_index()] = make_float4(colour.x, colour.y, colour.z, 1.0f);
}

RAYPLAY_DEVICE float3 sky(float3 direction) {
    return mixed(params.sky_bottom, params.sky_top, 0.5f * (normalised(direction).y + 1.0f));
}

// A ray whose payload is a structure of the caller. `visible` rays end at the first hit and run no closest-hit program:
// their miss program says that nothing was in the way.
RAYPLAY_DEVICE void trace_ray(const Ray& ray, float tmax, unsigned flags, unsigned miss, void* payload) {
    trace(params.scene, ray.origin, ray.direction, TMIN, tmax, 255, flags, 0, 1, miss, payload);
}

constexpr unsigned VISIBLE = RAY_FLAG_TERMINATE_ON_FIRST_HIT | RAY_FLAG_NO_CLOSEST_HIT;

RAYPLAY_DEVICE float3 hit_point() { return world_ray_origin() + ray_tmax() * world_ray_direction(); }

RAYPLAY_DEVICE float3 normal_to_world(float3 n) {
    const float4* rows = params.world_to_object + 3 * instance_index();
    const float4 a = rows[0], b = rows[1], c = rows[2];
    return normalised(vector(a.x * n.x + b.x * n.y + c.x * n.z, a.y * n.x + b.y * n.y + c.y * n.z,
                             a.z * n.x + b.z * n.y + c.z * n.z));
}

// World-space normal of the triangle that was hit.
RAYPLAY_DEVICE float3 triangle_normal(const Triangles* record) {
    const unsigned* corner = record->indices + 3 * primitive_index();
    const float *a = record->positions + 3 * corner[0], *b = record->positions + 3 * corner[1],
                *c = record->positions + 3 * corner[2];
    const float3 first = vector(a[0], a[1], a[2]);
    return normal_to_world(cross(vector(b[0], b[1], b[2]) - first, vector(c[0], c[1], c[2]) - first));
}

RAYPLAY_DEVICE float3 attribute_normal() {
    return normal_to_world(
        vector(__uint_as_float(attribute_0()), __uint_as_float(attribute_1()), __uint_as_float(attribute_2())));
}

RAYPLAY_DEVICE void report(float t, float3 normal) {
    report_intersection(t, 0, __float_as_uint(normal.x), __float_as_uint(normal.y), __float_as_uint(normal.z));
}

// The nearer crossing of a sphere in the ray's interval; the attributes are the outward normal.
RAYPLAY_DEVICE void intersect_sphere(float4 sphere) {
    const float3 direction = object_ray_direction(), offset = object_ray_origin() - vector(sphere.x, sphere.y, sphere.z);
    const float a = dot(direction, direction), half = -dot(offset, direction);
    const float3 perpendicular = offset + half / a * direction;
    const float discriminant = sphere.w * sphere.w - dot(perpendicular, perpendicular);
    if (discriminant < 0.0f) return;
    const float root = approximate_sqrt(discriminant * a), q = half < 0.0f ? half - root : half + root;
    const float first = q / a, second = q == 0.0f ? first : (dot(offset, offset) - sphere.w * sphere.w) / q;
    const float near = fminf(first, second), far = fmaxf(first, second), t = near > ray_tmin() ? near : far;
    if (t <= ray_tmin() || t >= ray_tmax()) return;
    report(t, 1.0f / sphere.w * (offset + t * direction));
}

RAYPLAY_DEVICE float3 colour_of(const Material& material) {
    return vector(material.albedo_fuzz.x, material.albedo_fuzz.y, material.albedo_fuzz.z);
}

RAYPLAY_DEVICE float3 emission_of(const Material& material) {
    return vector(material.emission_ior.x, material.emission_ior.y, material.emission_ior.z);
}

// Share of light that a dielectric reflects (Schlick), and its refracted direction; 1 where all is reflected.
RAYPLAY_DEVICE float reflectance(float3 direction, float3 normal, float ior, float3& refracted) {
    const float along = dot(direction, normal);
    const bool leaving = along > 0.0f;
    const float3 outward = leaving ? -normal : normal;
    const float ratio = leaving ? ior : 1.0f / ior, cosine = fabsf(along);
    const float squared = 1.0f - ratio * ratio * (1.0f - cosine * cosine);
    if (squared <= 0.0f) return 1.0f;
    refracted = ratio * direction + (ratio * cosine - approximate_sqrt(squared)) * outward;
    const float base = (1.0f - ior) / (1.0f + ior), grazing = 1.0f - (leaving ? ior * along : cosine);
    return base * base + (1.0f - base * base) * grazing * grazing * grazing * grazing * grazing;
}

// What the scene's materials do to a ray: the colour of the hit, and where the path continues.
//
// Paths end at a back face of diffuse and metallic surfaces, and diffuse ones scatter with density 2 cos^3 / pi about the
// normal, as in the built-in programs (tracer/programs/surfaces.h), whose pictures these materials share.
struct Surface {
    const Material* material;
    float3 incoming, normal, colour, outgoing;
    float distance;  // negative after a miss
    unsigned scatters;
    Random random;
};

RAYPLAY_DEVICE void leave(Surface& s, float3 colour, float3 outgoing, bool scatters) {
    s.colour = colour, s.outgoing = outgoing, s.scatters = scatters;
}

RAYPLAY_DEVICE void lambertian(Surface& s) {
    const bool front = dot(s.incoming, s.normal) < 0.0f;
    const float cosine = approximate_sqrt(approximate_sqrt(uniform(s.random)));
    const float3 direction = turned(direction_around(cosine, 2.0f * PI * uniform(s.random)), s.normal);
    leave(s, front ? colour_of(*s.material) : black(), direction, front);
}

RAYPLAY_DEVICE void metallic(Surface& s) {
    const bool front = dot(s.incoming, s.normal) < 0.0f;
    const float3 fuzz = s.material->albedo_fuzz.w * point_in_ball(s.random);
    leave(s, front ? colour_of(*s.material) : black(), reflected(s.incoming, s.normal) + fuzz, front);
}

RAYPLAY_DEVICE void dielectric(Surface& s) {
    float3 refracted = s.incoming;
    const float share = reflectance(s.incoming, s.normal, s.material->emission_ior.w, refracted);
    const bool mirrored = uniform(s.random) < share;
    leave(s, vector(1.0f, 1.0f, 1.0f), mirrored ? reflected(s.incoming, s.normal) : refracted, true);
}

RAYPLAY_DEVICE void light(Surface& s) { leave(s, emission_of(*s.material), s.normal, false); }

}  // namespace gallery
