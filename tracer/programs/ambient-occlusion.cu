// Ambient occlusion: one primary ray per sample and, where it hits, `secondary_rays` short rays into the hemisphere
// above the surface. The pixel is the share of them that meets nothing; a missed primary ray shows the sky.
#include "camera.h"
#include "surfaces.h"

extern "C" __global__ void __raygen__ambient_occlusion() {
    using namespace rayplay;
    Payload payload;
    Seeds seeds = first_seeds();
    payload.seed = seeds.ray;
    float3 sum = vector(0.0f, 0.0f, 0.0f);
#pragma unroll 1
    for (unsigned sample = 0; sample < params.samples; ++sample) {
        const Ray ray = camera_ray(seeds.pixel, payload.seed);
        trace_closest(ray, &payload);
        float3 colour = payload.colour;
        if (payload.distance >= 0.0f && params.secondary_rays > 0) {
            const float3 normal = payload.normal;
            const float3 point = ray.origin + payload.distance * ray.direction + params.secondary_offset * normal;
            unsigned open = 0;
#pragma unroll 1
            for (unsigned index = 0; index < params.secondary_rays; ++index) {
                float3 direction = direction_on_sphere(payload.seed);
                if (dot(direction, normal) < 0.0f) direction = -direction;
                open += trace_visible({point, direction}, params.secondary_tmax, &payload);
            }
            const float share = open * approximate_reciprocal(static_cast<float>(params.secondary_rays));
            colour = vector(share, share, share);
        }
        sum = sum + colour;
    }
    store_pixel(sum);
}
