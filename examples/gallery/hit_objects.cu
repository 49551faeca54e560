// Hit objects: path tracing in three steps, traverse, reorder, invoke. Threads are reordered by the material model that
// their ray has met, which the closest-hit program then evaluates.
#include "gallery.h"

#define UNUSED_SLOTS                                                                                             \
    "%19, %19, %19, %19, %19, %19, %19, %19, %19, %19, %19, %19, %19, %19, %19, %19, %19, %19, %19, %19, %19, %19, " \
    "%19, %19, %19, %19, %19, %19, %19, %19"
#define SINKS                                                                                                    \
    "sink0, sink1, sink2, sink3, sink4, sink5, sink6, sink7, sink8, sink9, sink10, sink11, sink12, sink13, sink14, " \
    "sink15, sink16, sink17, sink18, sink19, sink20, sink21, sink22, sink23, sink24, sink25, sink26, sink27, "       \
    "sink28, sink29"

namespace gallery {

struct Slots {
    unsigned low, high;
};

RAYPLAY_DEVICE Slots slots_of(void* payload) {
    const unsigned long long address = reinterpret_cast<unsigned long long>(payload);
    return {static_cast<unsigned>(address), static_cast<unsigned>(address >> 32)};
}

RAYPLAY_DEVICE void traverse(const Ray& ray, void* payload) {
    Slots p = slots_of(payload);
    const unsigned type = 0, mask = 255, flags = 0, offset = 0, stride = 1, miss = 0, count = 2, zero = 0;
    asm volatile("{\n\t.reg .b32 sink<30>;\n\tcall (%0, %1, " SINKS "), _optix_hitobject_traverse, (%2, %3, %4, %5, %6,"
                 " %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %0, %1, " UNUSED_SLOTS ");\n\t}"
                 : "+r"(p.low), "+r"(p.high)
                 : "r"(type), "l"(params.scene), "f"(ray.origin.x), "f"(ray.origin.y), "f"(ray.origin.z),
                   "f"(ray.direction.x), "f"(ray.direction.y), "f"(ray.direction.z), "f"(TMIN), "f"(TMAX), "f"(0.0f),
                   "r"(mask), "r"(flags), "r"(offset), "r"(stride), "r"(miss), "r"(count), "r"(zero)
                 : "memory");
}

RAYPLAY_DEVICE void invoke(void* payload) {
    Slots p = slots_of(payload);
    const unsigned type = 0, count = 2, zero = 0;
    asm volatile("{\n\t.reg .b32 sink<30>, zero;\n\tmov.b32 zero, %4;\n\tcall (%0, %1, " SINKS
                 "), _optix_hitobject_invoke, (%2, %3, %0, %1, zero, zero, zero, zero, zero, zero, zero, zero, zero,"
                 " zero, zero, zero, zero, zero, zero, zero, zero, zero, zero, zero, zero, zero, zero, zero, zero, zero,"
                 " zero, zero, zero, zero);\n\t}"
                 : "+r"(p.low), "+r"(p.high)
                 : "r"(type), "r"(count), "r"(zero)
                 : "memory");
}

// The hint is the model of the material that was hit, 4 for none: three bits of it count.
RAYPLAY_DEVICE unsigned hint_of_hit() {
    unsigned is_hit, primitive;
    asm volatile("call (%0), _optix_hitobject_is_hit, ();" : "=r"(is_hit));
    if (is_hit == 0) return 4;
    unsigned long long data;
    asm volatile("call (%0), _optix_hitobject_get_sbt_data_pointer, ();" : "=l"(data));
    asm volatile("call (%0), _optix_hitobject_get_primitive_idx, ();" : "=r"(primitive));
    return params.materials[reinterpret_cast<const Spheres*>(data)->material_numbers[primitive]].model;
}

}  // namespace gallery

extern "C" __global__ void __raygen__hit_objects() {
    using namespace gallery;
    float3 sum = black();
#pragma unroll 1
    for (unsigned sample = 0; sample < params.samples; ++sample) {
        Surface surface;
        surface.random = random_of(sample);
        Ray ray = random_ray(surface.random);
        float3 throughput = vector(1.0f, 1.0f, 1.0f);
        surface.scatters = 1;
#pragma unroll 1
        for (unsigned bounce = 0; surface.scatters && bounce < params.bounces; ++bounce) {
            traverse(ray, &surface);
            const unsigned hint = hint_of_hit(), bits = 3;
            asm volatile("call _optix_hitobject_reorder, (%0, %1);" : : "r"(hint), "r"(bits) : "memory");
            invoke(&surface);
            throughput = throughput * surface.colour;
            ray = {ray.origin + surface.distance * ray.direction, surface.outgoing};
        }
        if (!surface.scatters) sum = sum + throughput;
    }
    store(1.0f / params.samples * sum);
}

extern "C" __global__ void __miss__sky() {
    using namespace gallery;
    Surface* surface = payload_pointer<Surface>();
    surface->colour = sky(world_ray_direction());
    surface->scatters = 0;
}

extern "C" __global__ void __intersection__sphere() {
    using namespace gallery;
    intersect_sphere(sbt_data<Spheres>()->spheres[primitive_index()]);
}

extern "C" __global__ void __closesthit__sphere() {
    using namespace gallery;
    Surface* surface = payload_pointer<Surface>();
    Surface s = *surface;
    s.material = params.materials + sbt_data<Spheres>()->material_numbers[primitive_index()];
    s.incoming = world_ray_direction();
    s.normal = attribute_normal();
    s.distance = ray_tmax();
    switch (s.material->model) {
        case LAMBERTIAN: lambertian(s); break;
        case METALLIC: metallic(s); break;
        case DIELECTRIC: dielectric(s); break;
        default: light(s);
    }
    s.outgoing = normalised(s.outgoing);
    *surface = s;
}
