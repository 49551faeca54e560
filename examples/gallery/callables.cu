// Callables: path tracing whose materials are direct callables, found by a material's model; a continuation callable ends
// paths in the sky, by a ray of its own.
#include "gallery.h"

namespace gallery {

RAYPLAY_DEVICE void call_material(unsigned model, Surface* surface) {
    unsigned long long address;
    asm volatile("call (%0), _optix_call_direct_callable, (%1);" : "=l"(address) : "r"(model));
    reinterpret_cast<void (*)(Surface*)>(address)(surface);
}

RAYPLAY_DEVICE void call_environment(float3* colour, float3 direction) {
    unsigned long long address;
    asm volatile("call (%0), _optix_call_continuation_callable, (%1);" : "=l"(address) : "r"(4));
    reinterpret_cast<void (*)(float3*, float3)>(address)(colour, direction);
}

}  // namespace gallery

extern "C" __global__ void __raygen__callables() {
    using namespace gallery;
    float3 sum = black();
#pragma unroll 1
    for (unsigned sample = 0; sample < params.samples; ++sample) {
        Surface surface;
        surface.random = random_of(sample);
        Ray ray = random_ray(surface.random);
        float3 throughput = vector(1.0f, 1.0f, 1.0f);
#pragma unroll 1
        for (unsigned bounce = 0; bounce < params.bounces; ++bounce) {
            surface.distance = -1.0f;
            trace_ray(ray, TMAX, RAY_FLAG_NONE, 0, &surface);
            if (surface.distance < 0.0f) {
                float3 colour;
                call_environment(&colour, ray.direction);
                sum = sum + throughput * colour;
                break;
            }
            surface.incoming = ray.direction;
            call_material(surface.material->model, &surface);
            throughput = throughput * surface.colour;
            if (!surface.scatters) {
                sum = sum + throughput;
                break;
            }
            ray = {ray.origin + surface.distance * ray.direction, normalised(surface.outgoing)};
        }
    }
    store(1.0f / params.samples * sum);
}

extern "C" __global__ void __miss__nothing() {}

extern "C" __global__ void __intersection__sphere() {
    using namespace gallery;
    intersect_sphere(sbt_data<Spheres>()->spheres[primitive_index()]);
}

extern "C" __global__ void __closesthit__sphere() {
    using namespace gallery;
    Surface* surface = payload_pointer<Surface>();
    surface->material = params.materials + sbt_data<Spheres>()->material_numbers[primitive_index()];
    surface->normal = attribute_normal();
    surface->distance = ray_tmax();
}

extern "C" __device__ void __direct_callable__lambertian(gallery::Surface* surface) { gallery::lambertian(*surface); }

extern "C" __device__ void __direct_callable__metallic(gallery::Surface* surface) { gallery::metallic(*surface); }

extern "C" __device__ void __direct_callable__dielectric(gallery::Surface* surface) { gallery::dielectric(*surface); }

extern "C" __device__ void __direct_callable__light(gallery::Surface* surface) { gallery::light(*surface); }

extern "C" __device__ void __continuation_callable__environment(float3* colour, float3 direction) {
    *colour = gallery::sky(direction);
}
