// Ambient occlusion: one primary ray per sample and, where it hits, `secondary_rays` short rays into the hemisphere
// above the surface. The pixel is the share of them that meets nothing; a missed primary ray shows the sky.
#include "camera.h"
#include "surfaces.h"

namespace rayplay {

// Occlusion rays begin above the surface. LumiBench's begin on their own way, and their hemisphere is about the normal
// that the last closest-hit program has left (docs/sources/vulkan-sim.md#programs).
#ifdef RAYPLAY_WORD_BY_WORD
RAYPLAY_DEVICE float3 offset_along(float3, float3 direction) { return params.secondary_offset * direction; }
RAYPLAY_DEVICE float3 hemisphere(float3, const Payload& payload) { return payload.normal; }
#else
RAYPLAY_DEVICE float3 offset_along(float3 normal, float3) { return params.secondary_offset * normal; }
RAYPLAY_DEVICE float3 hemisphere(float3 normal, const Payload&) { return normal; }
#endif

}  // namespace rayplay

extern "C" __global__ void __raygen__ambient_occlusion() {
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
            const float3 point = ray.origin + found.distance * ray.direction;
            unsigned open = 0;
#pragma unroll 1
            for (unsigned index = 0; index < params.secondary_rays; ++index) {
                float3 direction = direction_on_sphere(payload.seed);
                if (dot(direction, hemisphere(normal, payload)) < 0.0f) direction = -direction;
                const float3 origin = point + offset_along(normal, direction);
                open += trace_visible({origin, direction}, params.secondary_tmax, variables, traces++);
            }
            const float share = open * approximate_reciprocal(static_cast<float>(params.secondary_rays));
            colour = vector(share, share, share);
        }
        sum = sum + colour;
    }
    store_pixel(sum);
}
