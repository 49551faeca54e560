// Foliage: leaves are cut out of rectangles by an any-hit program. Towards the sun they let light through: that any-hit
// program multiplies the light that is left, ignores the hit and ends the ray when little is left.
#include "gallery.h"

namespace gallery {

struct Payload {
    float3 light;  // of a shadow ray: left; of another: the surface's colour
    float3 normal;
    float distance;
    unsigned shadow;
};

constexpr float LEAF = 0.45f, LEAST = 0.02f;

RAYPLAY_DEVICE bool is_hole(const Triangles* record, const Material& material) {
    const unsigned* corner = record->indices + 3 * primitive_index();
    const float2 a = record->uvs[corner[0]], b = record->uvs[corner[1]], c = record->uvs[corner[2]];
    const float2 weight = triangle_barycentrics();
    const float first = 1.0f - weight.x - weight.y;
    const float u = first * a.x + weight.x * b.x + weight.y * c.x, v = first * a.y + weight.x * b.y + weight.y * c.y;
    const unsigned width = material.alpha_width, height = material.alpha_height;
    const unsigned column = min(static_cast<unsigned>((u - floorf(u)) * width), width - 1);
    const unsigned row = min(static_cast<unsigned>((v - floorf(v)) * height), height - 1);
    return material.alpha_texels[row * width + column] < 255.0f * material.alpha_cutoff;
}

}  // namespace gallery

extern "C" __global__ void __raygen__foliage() {
    using namespace gallery;
    float3 sum = black();
#pragma unroll 1
    for (unsigned sample = 0; sample < params.samples; ++sample) {
        Random random = random_of(sample);
        const Ray ray = random_ray(random);
        Payload hit = {black(), black(), -1.0f, 0};
        trace_ray(ray, TMAX, RAY_FLAG_NONE, 0, &hit);
        float3 colour = hit.light;
        if (hit.distance >= 0.0f) {
            const float3 point = ray.origin + hit.distance * ray.direction + 0.002f * hit.normal;
            Payload sun = {vector(1.0f, 1.0f, 1.0f), black(), 0.0f, 1};
            trace_ray({point, params.light}, TMAX, RAY_FLAG_NO_CLOSEST_HIT, 1, &sun);
            const float share = sun.distance < 0.0f ? fabsf(dot(hit.normal, params.light)) : 0.0f;
            colour = colour * (vector(0.25f, 0.28f, 0.33f) + 1.3f * share * sun.light);
        }
        sum = sum + colour;
    }
    store(1.0f / params.samples * sum);
}

extern "C" __global__ void __miss__sky() {
    using namespace gallery;
    Payload* payload = payload_pointer<Payload>();
    payload->light = sky(world_ray_direction());
    payload->distance = -1.0f;
}

extern "C" __global__ void __miss__sun() {
    using namespace gallery;
    payload_pointer<Payload>()->distance = -1.0f;
}

extern "C" __global__ void __anyhit__leaf() {
    using namespace gallery;
    const Triangles* record = sbt_data<Triangles>();
    const Material& material = params.materials[record->material_numbers[primitive_index()]];
    if (is_hole(record, material)) ignore_intersection();
    Payload* payload = payload_pointer<Payload>();
    if (payload->shadow == 0) return;
    payload->light = LEAF * payload->light;
    if (payload->light.x < LEAST) terminate_ray();
    ignore_intersection();
}

extern "C" __global__ void __closesthit__surface() {
    using namespace gallery;
    const Triangles* record = sbt_data<Triangles>();
    const float3 normal = triangle_normal(record);
    Payload* payload = payload_pointer<Payload>();
    payload->light = colour_of(params.materials[record->material_numbers[primitive_index()]]);
    payload->normal = dot(normal, world_ray_direction()) > 0.0f ? -normal : normal;
    payload->distance = ray_tmax();
}
