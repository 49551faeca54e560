// Whitted's ray tracing: closest-hit programs that trace on, for reflection, refraction and the shadow of one sun. The
// payload is a structure in the local memory of the caller, whichever program that is.
#include "gallery.h"

namespace gallery {

constexpr unsigned DEEPEST = 6;

struct Payload {
    float3 colour;
    unsigned depth;
};

RAYPLAY_DEVICE float3 seen_along(float3 origin, float3 direction, unsigned depth) {
    Payload payload = {black(), depth};
    trace_ray({origin, direction}, TMAX, RAY_FLAG_NONE, 0, &payload);
    return payload.colour;
}

RAYPLAY_DEVICE float3 lit(float3 point, float3 normal, float3 colour) {
    const float cosine = dot(normal, params.light);
    Payload shadow = {black(), 0};
    if (cosine > 0.0f) trace_ray({point, params.light}, TMAX, VISIBLE, 1, &shadow);
    return (0.3f + 0.7f * shadow.colour.x * fmaxf(cosine, 0.0f)) * colour;
}

}  // namespace gallery

extern "C" __global__ void __raygen__whitted() {
    using namespace gallery;
    const Ray ray = centre_ray();
    store(seen_along(ray.origin, ray.direction, 0));
}

extern "C" __global__ void __miss__sky() {
    using namespace gallery;
    payload_pointer<Payload>()->colour = sky(world_ray_direction());
}

extern "C" __global__ void __miss__sun() {
    using namespace gallery;
    payload_pointer<Payload>()->colour.x = 1.0f;
}

extern "C" __global__ void __intersection__sphere() {
    using namespace gallery;
    intersect_sphere(sbt_data<Spheres>()->spheres[primitive_index()]);
}

extern "C" __global__ void __closesthit__sphere() {
    using namespace gallery;
    Payload* payload = payload_pointer<Payload>();
    const Material& material = params.materials[sbt_data<Spheres>()->material_numbers[primitive_index()]];
    const float3 normal = attribute_normal(), point = hit_point(), direction = world_ray_direction();
    const unsigned depth = payload->depth + 1;
    float3 colour = black();
    if (material.model == LAMBERTIAN) {
        colour = lit(point, normal, colour_of(material));
    } else if (depth < min(params.bounces, DEEPEST)) {
        float3 refracted = direction;
        const bool clear = material.model == DIELECTRIC;
        const float share = clear ? reflectance(direction, normal, material.emission_ior.w, refracted) : 1.0f;
        colour = share * seen_along(point, reflected(direction, normal), depth);
        if (share < 1.0f) colour = colour + (1.0f - share) * seen_along(point, refracted, depth);
        if (!clear) colour = colour * colour_of(material);
    }
    payload->colour = colour;
}
