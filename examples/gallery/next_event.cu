// Path tracing with next-event estimation: each diffuse hit asks for a point of the lamp, and a path that finds the lamp
// by itself counts only where no hit before could ask. The built-in path tracing's picture with less noise.
//
// Diffuse surfaces scatter as the built-in programs' do: about the normal with density 2 cos^3 / pi.
#include "gallery.h"

namespace gallery {

struct Payload {
    float3 colour, normal;
    float distance;  // negative after a miss
    unsigned model;
};

// Light of one point of the lamp that arrives at a diffuse hit, over the density of the point.
RAYPLAY_DEVICE float3 from_lamp(float3 point, float3 normal, Random& random) {
    const float3 target =
        params.lamp_corner + uniform(random) * params.lamp_first + uniform(random) * params.lamp_second;
    const float3 offset = target - point, area = cross(params.lamp_first, params.lamp_second);
    const float squared = dot(offset, offset), distance = approximate_sqrt(squared);
    const float3 direction = 1.0f / distance * offset;
    const float cosine = dot(direction, normal);
    if (cosine <= 0.0f) return black();
    Payload found = {black(), black(), 1.0f, LAMBERTIAN};
    trace_ray({point, direction}, 1.001f * distance, RAY_FLAG_NONE, 0, &found);
    if (found.distance < 0.0f || found.model != DIFFUSE_LIGHT) return black();
    const float lobe = 2.0f / PI * cosine * cosine * cosine;
    return lobe * fabsf(dot(direction, area)) / squared * found.colour;
}

RAYPLAY_DEVICE float3 path(Ray ray, Random& random) {
    float3 throughput = vector(1.0f, 1.0f, 1.0f), sum = black();
#pragma unroll 1
    for (unsigned bounce = 0; bounce < params.bounces; ++bounce) {
        Payload hit = {black(), black(), -1.0f, LAMBERTIAN};
        trace_ray(ray, TMAX, RAY_FLAG_NONE, 0, &hit);
        if (hit.distance < 0.0f) return sum + throughput * hit.colour;
        if (hit.model == DIFFUSE_LIGHT) return bounce == 0 ? throughput * hit.colour : sum;
        if (dot(hit.normal, ray.direction) >= 0.0f) return sum;  // a path ends at a back face
        throughput = throughput * hit.colour;
        const float3 point = ray.origin + hit.distance * ray.direction;
        if (bounce + 1 < params.bounces) sum = sum + throughput * from_lamp(point, hit.normal, random);
        const float cosine = approximate_sqrt(approximate_sqrt(uniform(random)));
        ray = {point, turned(direction_around(cosine, 2.0f * PI * uniform(random)), hit.normal)};
    }
    return sum;
}

}  // namespace gallery

extern "C" __global__ void __raygen__next_event() {
    using namespace gallery;
    float3 sum = black();
#pragma unroll 1
    for (unsigned sample = 0; sample < params.samples; ++sample) {
        Random random = random_of(sample);
        const Ray ray = random_ray(random);
        sum = sum + path(ray, random);
    }
    store(1.0f / params.samples * sum);
}

extern "C" __global__ void __miss__sky() {
    using namespace gallery;
    Payload* payload = payload_pointer<Payload>();
    payload->colour = sky(world_ray_direction());
    payload->distance = -1.0f;
}

extern "C" __global__ void __closesthit__surface() {
    using namespace gallery;
    const Triangles* record = sbt_data<Triangles>();
    const Material& material = params.materials[record->material_numbers[primitive_index()]];
    Payload* payload = payload_pointer<Payload>();
    payload->model = material.model;
    payload->colour = material.model == DIFFUSE_LIGHT ? emission_of(material) : colour_of(material);
    payload->normal = triangle_normal(record);
    payload->distance = ray_tmax();
}
