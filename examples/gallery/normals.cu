// Normals: the first hit's normal as a colour. Vertices and the matrices around the hit come from the calls of the
// interface, not from records; the colour returns in three payload registers.
#include "gallery.h"

namespace gallery {

struct Vertices {
    float3 a, b, c;
};

RAYPLAY_DEVICE Vertices vertices() {
    unsigned long long mesh;
    asm volatile("call (%0), _optix_get_gas_traversable_handle, ();" : "=l"(mesh));
    Vertices v;
    asm volatile("call (%0, %1, %2, %3, %4, %5, %6, %7, %8), _optix_get_triangle_vertex_data, (%9, %10, %11, %12);"
                 : "=f"(v.a.x), "=f"(v.a.y), "=f"(v.a.z), "=f"(v.b.x), "=f"(v.b.y), "=f"(v.b.z), "=f"(v.c.x),
                   "=f"(v.c.y), "=f"(v.c.z)
                 : "l"(mesh), "r"(primitive_index()), "r"(geometry_index()), "f"(0.0f));
    return v;
}

// From object to world space through the transform list, innermost first: by the transposed inverses.
RAYPLAY_DEVICE float3 through_transforms(float3 n) {
    unsigned levels;
    asm volatile("call (%0), _optix_get_transform_list_size, ();" : "=r"(levels));
#pragma unroll 1
    for (unsigned level = levels; level-- > 0;) {
        unsigned long long handle, matrix;
        asm volatile("call (%0), _optix_get_transform_list_handle, (%1);" : "=l"(handle) : "r"(level));
        asm volatile("call (%0), _optix_get_instance_inverse_transform_from_handle, (%1);" : "=l"(matrix) : "l"(handle));
        const float4* rows = reinterpret_cast<const float4*>(matrix);
        const float4 a = rows[0], b = rows[1], c = rows[2];
        n = vector(a.x * n.x + b.x * n.y + c.x * n.z, a.y * n.x + b.y * n.y + c.y * n.z,
                   a.z * n.x + b.z * n.y + c.z * n.z);
    }
    return normalised(n);
}

RAYPLAY_DEVICE void return_colour(float3 colour) {
    set_payload(0, __float_as_uint(colour.x));
    set_payload(1, __float_as_uint(colour.y));
    set_payload(2, __float_as_uint(colour.z));
}

}  // namespace gallery

extern "C" __global__ void __raygen__normals() {
    using namespace gallery;
    const Ray ray = centre_ray();
    unsigned red = 0, green = 0, blue = 0;
    const unsigned mask = 255, flags = 0, offset = 0, stride = 1, miss = 0;
    asm volatile("call (%0, %1, %2), _optix_trace_3, (%3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16,"
                 " %17, %0, %1, %2);"
                 : "+r"(red), "+r"(green), "+r"(blue)
                 : "l"(params.scene), "f"(ray.origin.x), "f"(ray.origin.y), "f"(ray.origin.z), "f"(ray.direction.x),
                   "f"(ray.direction.y), "f"(ray.direction.z), "f"(TMIN), "f"(TMAX), "f"(0.0f), "r"(mask), "r"(flags),
                   "r"(offset), "r"(stride), "r"(miss)
                 : "memory");
    store(vector(__uint_as_float(red), __uint_as_float(green), __uint_as_float(blue)));
}

extern "C" __global__ void __miss__sky() {
    using namespace gallery;
    return_colour(sky(world_ray_direction()));
}

extern "C" __global__ void __closesthit__normal() {
    using namespace gallery;
    const Vertices v = vertices();
    const float3 normal = through_transforms(cross(v.b - v.a, v.c - v.a));
    return_colour(0.5f * (normal + vector(1.0f, 1.0f, 1.0f)));
}
