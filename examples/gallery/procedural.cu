// Procedural primitives: the scene's spheres bound rings, whose surface an intersection program finds by steps of the
// distance to it. Spheres of radius 100 and more stay spheres.
#include "gallery.h"

namespace gallery {

struct Payload {
    float3 colour;
    float lit;
};

constexpr float RING = 0.66f, TUBE = 0.3f, LARGE = 100.0f;
constexpr unsigned STEPS = 96;

// Distance to a ring of outer radius 0.96 around the axis (0.36, 0.8, 0.48).
RAYPLAY_DEVICE float ring_distance(float3 p) {
    const float along = dot(p, vector(0.36f, 0.8f, 0.48f));
    const float across = approximate_sqrt(fmaxf(dot(p, p) - along * along, 0.0f)) - RING;
    return approximate_sqrt(across * across + along * along) - TUBE;
}

RAYPLAY_DEVICE void intersect_ring(float4 sphere) {
    const float scale = 1.0f / sphere.w;
    const float3 origin = scale * (object_ray_origin() - vector(sphere.x, sphere.y, sphere.z));
    const float3 step = scale * object_ray_direction();
    const float speed = approximate_sqrt(dot(step, step)), half = -dot(origin, step) / (speed * speed);
    const float3 nearest = origin + half * step;
    const float inside = 1.0f - dot(nearest, nearest);
    if (inside < 0.0f) return;
    const float reach = approximate_sqrt(inside) / speed;
    float t = fmaxf(half - reach, ray_tmin());
    const float end = fminf(half + reach, ray_tmax());
#pragma unroll 1
    for (unsigned k = 0; k < STEPS && t < end; ++k) {
        const float3 p = origin + t * step;
        const float distance = ring_distance(p);
        if (distance < 1e-4f) {
            const float h = 1e-3f;
            const float3 n = vector(ring_distance(p + vector(h, 0, 0)) - ring_distance(p - vector(h, 0, 0)),
                                    ring_distance(p + vector(0, h, 0)) - ring_distance(p - vector(0, h, 0)),
                                    ring_distance(p + vector(0, 0, h)) - ring_distance(p - vector(0, 0, h)));
            if (dot(n, step) < 0.0f) report(t, normalised(n));  // else the ray begins here and leaves
            if (dot(n, step) < 0.0f) return;
        }
        t += fmaxf(distance, 5e-4f) / speed;
    }
}

}  // namespace gallery

extern "C" __global__ void __raygen__procedural() {
    using namespace gallery;
    const Ray ray = centre_ray();
    Payload payload = {black(), 0.0f};
    trace_ray(ray, TMAX, RAY_FLAG_NONE, 0, &payload);
    store(payload.colour);
}

extern "C" __global__ void __miss__sky() {
    using namespace gallery;
    payload_pointer<Payload>()->colour = sky(world_ray_direction());
}

extern "C" __global__ void __miss__sun() {
    using namespace gallery;
    payload_pointer<Payload>()->lit = 1.0f;
}

extern "C" __global__ void __intersection__ring() {
    using namespace gallery;
    const float4 sphere = sbt_data<Spheres>()->spheres[primitive_index()];
    if (sphere.w >= LARGE) {
        intersect_sphere(sphere);
    } else {
        intersect_ring(sphere);
    }
}

extern "C" __global__ void __closesthit__ring() {
    using namespace gallery;
    const Material& material = params.materials[sbt_data<Spheres>()->material_numbers[primitive_index()]];
    const float3 colour = material.model == DIELECTRIC ? vector(0.85f, 0.9f, 0.95f) : colour_of(material);
    const float3 normal = attribute_normal();
    const float cosine = fmaxf(dot(normal, params.light), 0.0f);
    Payload shadow = {black(), 0.0f};
    trace_ray({hit_point() + 0.002f * normal, params.light}, TMAX, VISIBLE, 1, &shadow);
    payload_pointer<Payload>()->colour = (0.3f + 0.2f * normal.y + 0.6f * shadow.lit * cosine) * colour;
}
