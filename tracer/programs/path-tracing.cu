// Path tracing: every sample follows one ray through the scene until it meets a light or the sky, is absorbed, or has
// bounced `bounces` times. A loop, no recursion: the closest-hit programs return the scattered ray in the payload.
#include "camera.h"
#include "surfaces.h"

extern "C" __global__ void __raygen__path_tracing() {
    using namespace rayplay;
    Variables variables;
    Payload& payload = variables.payload;
    Seeds seeds = first_seeds();
    payload.seed = seeds.ray;
    float3 sum = vector(0.0f, 0.0f, 0.0f);
    unsigned traces = 0;
#pragma unroll 1
    for (unsigned sample = 0; sample < params.samples; ++sample) {
        Ray ray = camera_ray(seeds.pixel, payload.seed);
        float3 throughput = vector(1.0f, 1.0f, 1.0f);
#pragma unroll 1
        for (unsigned bounce = 0;; ++bounce) {
            if (bounce == params.bounces) {
                throughput = vector(0.0f, 0.0f, 0.0f);
                break;
            }
            trace_closest(ray, carried(variables, traces++));
            Found<true> found = payload;
            throughput = throughput * found.colour;
            if (!found.scatters) break;
            ray = {ray.origin + found.distance * ray.direction, found.scatter};
        }
        sum = sum + throughput;
    }
    store_pixel(sum);
}
