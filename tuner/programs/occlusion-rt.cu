// The program of occlusion.cu for GPUs with a ray-tracing unit: the same rays, traced by the unit.
//
// Numbers of rays are in 256ths, so that they may be fractions, and stand in fields that other programs use otherwise:
// `samples`, shadow rays in `bounces`, rays of ambient occlusion in `secondary_rays`.
#include "../../tracer/programs/camera.h"
#include "../../tracer/programs/surfaces.h"

namespace rayplay {

// Rank of a warp, in 256ths, as in occlusion.cu; a warp is 32x1 pixels.
RAYPLAY_DEVICE unsigned rank() {
    return (3242174889u * (launch_index_x() / 32) + 2447445414u * launch_index_y()) >> 24;
}

RAYPLAY_DEVICE float3 towards_light(float3 point, unsigned& seed) {
    if (params.light_count == 0) return TMAX * vector(0.0f, 1.0f, 0.0f);
    const Words4 light = params.lights[0];
    return vector(light.x, light.y, light.z) + light.w * point_in_sphere(seed) - point;
}

}  // namespace rayplay

extern "C" __global__ void __raygen__occlusion() {
    using namespace rayplay;
    Variables variables;
    Payload& payload = variables.payload;
    const unsigned samples = (params.samples + rank()) >> 8;
    const unsigned shadow_rays = (params.bounces + rank()) >> 8, occlusion_rays = (params.secondary_rays + rank()) >> 8;
    unsigned pixel_seed = params.seed;
    payload.seed = tea16(tea16(launch_index_x(), launch_index_y()), params.seed);
    float sum = 0.0f;
    unsigned traces = 0;
#pragma unroll 1
    for (unsigned sample = 0; sample < samples; ++sample) {
        const Ray ray = camera_ray(pixel_seed, payload.seed);
        trace_closest(ray, carried(variables, traces++));
        Found<false> found = payload;
        float share = 1.0f;
        if (found.distance >= 0.0f) {
            const float3 normal = payload.normal;
            const float3 point = ray.origin + found.distance * ray.direction + params.secondary_offset * normal;
            unsigned lit = 0, open = 0;
#pragma unroll 1
            for (unsigned index = 0; index < shadow_rays + occlusion_rays; ++index) {
                const bool is_shadow = index < shadow_rays;
                float3 direction = is_shadow ? towards_light(point, payload.seed) : direction_on_sphere(payload.seed);
                float reach = params.secondary_tmax;
                if (is_shadow) {
                    reach = approximate_sqrt(dot(direction, direction));
                    direction = normalised(direction);
                } else if (dot(direction, normal) < 0.0f) {
                    direction = -direction;
                }
                const bool free = trace_visible({point, direction}, reach, variables, traces++);
                (is_shadow ? lit : open) += free;
            }
            if (shadow_rays > 0) share *= 0.5f + 0.5f * lit / shadow_rays;
            if (occlusion_rays > 0) share *= static_cast<float>(open) / occlusion_rays;
        }
        sum += share;
    }
    const float grey = sum * approximate_reciprocal(static_cast<float>(samples));
    params.image[launch_index_y() * params.width + launch_index_x()] = {grey, grey, grey, 1.0f};
}
