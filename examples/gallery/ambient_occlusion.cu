// Ambient occlusion: the share of a hemisphere that is open up to a distance, by one ray in each of its strata of
// equal solid angle. The built-in workload's picture, by another estimator.
#include "gallery.h"

namespace gallery {

struct Payload {
    float distance;  // negative after a miss
    float3 normal;
};

constexpr unsigned RINGS = 2, SECTORS = 4;

}  // namespace gallery

extern "C" __global__ void __raygen__ambient_occlusion() {
    using namespace gallery;
    float sum = 0.0f;
#pragma unroll 1
    for (unsigned sample = 0; sample < params.samples; ++sample) {
        Random random = random_of(sample);
        const Ray ray = random_ray(random);
        Payload first = {-1.0f, black()};
        trace_ray(ray, TMAX, RAY_FLAG_NONE, 0, &first);
        if (first.distance < 0.0f) continue;
        const float3 point = ray.origin + first.distance * ray.direction + 0.01f * first.normal;
        unsigned open = 0;
#pragma unroll 1
        for (unsigned stratum = 0; stratum < RINGS * SECTORS; ++stratum) {
            const float cosine = (stratum % RINGS + uniform(random)) / RINGS;
            const float angle = 2.0f * PI * (stratum / RINGS + uniform(random)) / SECTORS;
            Payload second = {1.0f, black()};
            trace_ray({point, turned(direction_around(cosine, angle), first.normal)}, params.reach, VISIBLE, 0, &second);
            open += second.distance < 0.0f;
        }
        sum += open * (1.0f / (RINGS * SECTORS));
    }
    sum /= params.samples;
    store(vector(sum, sum, sum));
}

extern "C" __global__ void __miss__open() {
    using namespace gallery;
    payload_pointer<Payload>()->distance = -1.0f;
}

extern "C" __global__ void __closesthit__surface() {
    using namespace gallery;
    const float3 normal = triangle_normal(sbt_data<Triangles>());
    Payload* payload = payload_pointer<Payload>();
    payload->normal = dot(normal, world_ray_direction()) > 0.0f ? -normal : normal;
    payload->distance = ray_tmax();
}
