// Primary rays: a jittered point of the pixel seen through a thin lens, and the pixel's store.
#pragma once

#include "blocks.h"
#include "random.h"

namespace rayplay {

constexpr float TMIN = 0.001f, TMAX = 1e4f;

struct Ray {
    float3 origin, direction;
};

RAYPLAY_DEVICE unsigned pixel_index() { return launch_index_y() * params.width + launch_index_x(); }

// Every pixel has random numbers of its own, but for the place inside the pixel: a sample's is the same in all pixels.
struct Seeds {
    unsigned pixel, ray;
};

RAYPLAY_DEVICE Seeds first_seeds() {
    const unsigned image = params.samples + params.seed - 1;
    return {params.seed, tea16(tea16(launch_index_x(), launch_index_y()), image)};
}

// `right` and `up` span the image plane at distance 1: the image reaches from -1 to 1 along both.
RAYPLAY_DEVICE Ray camera_ray(unsigned& pixel_seed, unsigned& ray_seed) {
    const Camera& camera = params.camera;
    const float x = launch_index_x() + uniform(pixel_seed), y = launch_index_y() + uniform(pixel_seed);
    const float u = 2.0f * x * approximate_reciprocal(static_cast<float>(params.width)) - 1.0f;
    const float v = 1.0f - 2.0f * y * approximate_reciprocal(static_cast<float>(params.height));
    const float2 lens = point_in_disk(ray_seed);  // drawn for a pinhole, too
    const float3 offset = camera.lens_radius * (lens.x * normalised(camera.right) + lens.y * normalised(camera.up));
    const float3 direction = camera.forward + u * camera.right + v * camera.up;
    return {camera.eye + offset, normalised(camera.focus_distance * direction - offset)};
}

RAYPLAY_DEVICE void trace_closest(const Ray& ray, Payload* payload) {
    trace(params.scene, ray.origin, ray.direction, TMIN, TMAX, 255, RAY_FLAG_NONE, 0, 1, 0, payload);
}

// True when nothing lies between the ray's origin and tmax: any hit ends the search. In Vulkan-Sim's variant it also
// runs the closest-hit program, and a miss the sky's, as LumiBench's do (docs/sources/vulkan-sim.md#programs).
RAYPLAY_DEVICE bool trace_visible(const Ray& ray, float tmax, Variables& variables, unsigned trace_number) {
#ifdef RAYPLAY_WORD_BY_WORD
    constexpr unsigned flags = RAY_FLAG_TERMINATE_ON_FIRST_HIT, miss = 0;
#else
    constexpr unsigned flags = RAY_FLAG_TERMINATE_ON_FIRST_HIT | RAY_FLAG_NO_CLOSEST_HIT, miss = 1;
#endif
    variables.payload.distance = 0.0f;
    trace(params.scene, ray.origin, ray.direction, TMIN, tmax, 255, flags, 0, 1, miss, carried(variables, trace_number));
    Found<false> found = variables.payload;
    return found.distance < 0.0f;
}

RAYPLAY_DEVICE void store_pixel(float3 sum) {
    const float scale = approximate_reciprocal(static_cast<float>(params.samples));
    params.image[pixel_index()] = {scale * sum.x, scale * sum.y, scale * sum.z, 1.0f};
}

}  // namespace rayplay
