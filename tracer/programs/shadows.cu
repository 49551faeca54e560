// Shadows: one primary ray per sample and, where it hits, `secondary_rays` shadow rays: straight up under a sky, else
// towards a point of a sphere light, the lights in turn. The pixel is the surface's colour times the visible share.
#include "camera.h"
#include "surfaces.h"

namespace rayplay {

struct Shadow {
    float3 direction;
    float tmax;
};

RAYPLAY_DEVICE Shadow towards_light(float3 point, unsigned index, unsigned& seed) {
    if (params.has_sky || params.light_count == 0) return {vector(0.0f, 1.0f, 0.0f), TMAX};
    const Words4 light = params.lights[index % params.light_count];
    const float3 target = vector(light.x, light.y, light.z) + light.w * point_in_sphere(seed);
    const float3 offset = target - point;
    const float squared = dot(offset, offset);
    return {approximate_rsqrt(squared) * offset, approximate_sqrt(squared)};
}

}  // namespace rayplay

extern "C" __global__ void __raygen__shadows() {
    using namespace rayplay;
    Variables variables;
    Payload& payload = variables.payload;
    Seeds seeds = first_seeds();
    payload.seed = seeds.ray;
    float3 sum = vector(0.0f, 0.0f, 0.0f);
    unsigned traces = 0;
#pragma unroll 1
    for (unsigned sample = 0; sample < params.samples; ++sample) {
        const Ray ray = camera_ray(seeds.pixel, payload.seed);
        trace_closest(ray, carried(variables, traces++));
        Found<false> found = payload;
        float3 colour = found.colour;
        if (found.distance >= 0.0f && params.secondary_rays > 0) {
            const float3 normal = payload.normal;
            const float3 point = ray.origin + found.distance * ray.direction + params.secondary_offset * normal;
            unsigned visible = 0;
#pragma unroll 1
            for (unsigned index = 0; index < params.secondary_rays; ++index) {
                const Shadow shadow = towards_light(point, index, payload.seed);
                if (dot(shadow.direction, normal) > 0.0f) {
                    visible += trace_visible({point, shadow.direction}, shadow.tmax, variables, traces++);
                }
            }
            const float share = visible * approximate_reciprocal(static_cast<float>(params.secondary_rays));
            colour = share * colour;
        }
        sum = sum + colour;
    }
    store_pixel(sum);
}
