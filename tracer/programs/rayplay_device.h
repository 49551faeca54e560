// What a ray-tracing program may ask of the machine: one wrapper per call of OptiX's PTX interface.
//
// Written from the interface's names and argument lists alone (docs/sources/optix.md#trace); any compiler that
// passes inline assembly through to PTX can use it. Programs are `extern "C" __global__ void __raygen__NAME()` and
// likewise `__miss__`, `__closesthit__`, `__anyhit__` and `__intersection__`; launch parameters are one
// `extern "C" __constant__` structure.
#pragma once

#define RAYPLAY_DEVICE static inline __attribute__((always_inline)) __device__

#define RAYPLAY_GET_U32(function, call)                    \
    RAYPLAY_DEVICE unsigned function() {                   \
        unsigned value;                                    \
        asm volatile("call (%0), " call ", ();" : "=r"(value)); \
        return value;                                      \
    }

#define RAYPLAY_GET_F32(function, call)                    \
    RAYPLAY_DEVICE float function() {                      \
        float value;                                       \
        asm volatile("call (%0), " call ", ();" : "=f"(value)); \
        return value;                                      \
    }

#define RAYPLAY_GET_VECTOR(function, call)                                  \
    RAYPLAY_DEVICE float3 function() {                                      \
        float x, y, z;                                                      \
        asm volatile("call (%0), " call "_x, ();" : "=f"(x));               \
        asm volatile("call (%0), " call "_y, ();" : "=f"(y));               \
        asm volatile("call (%0), " call "_z, ();" : "=f"(z));               \
        return make_float3(x, y, z);                                        \
    }

#define RAYPLAY_ATTRIBUTE(index)                                                           \
    RAYPLAY_DEVICE unsigned attribute_##index() {                                          \
        unsigned value;                                                                    \
        asm volatile("call (%0), _optix_get_attribute_" #index ", ();" : "=r"(value));     \
        return value;                                                                      \
    }

namespace rayplay {

enum RayFlag : unsigned {
    RAY_FLAG_NONE = 0,
    RAY_FLAG_NO_ANY_HIT = 1,
    RAY_FLAG_FORCE_ANY_HIT = 2,
    RAY_FLAG_TERMINATE_ON_FIRST_HIT = 4,
    RAY_FLAG_NO_CLOSEST_HIT = 8,
    RAY_FLAG_CULL_BACK = 0x10,
    RAY_FLAG_CULL_FRONT = 0x20,
};

// Launch: which thread this is, and of how many.
RAYPLAY_GET_U32(launch_index_x, "_optix_get_launch_index_x")
RAYPLAY_GET_U32(launch_index_y, "_optix_get_launch_index_y")
RAYPLAY_GET_U32(launch_index_z, "_optix_get_launch_index_z")
RAYPLAY_GET_U32(launch_dimension_x, "_optix_get_launch_dimension_x")
RAYPLAY_GET_U32(launch_dimension_y, "_optix_get_launch_dimension_y")
RAYPLAY_GET_U32(launch_dimension_z, "_optix_get_launch_dimension_z")

// The ray: world space anywhere but in ray generation; object space in any-hit and intersection programs.
RAYPLAY_GET_VECTOR(world_ray_origin, "_optix_get_world_ray_origin")
RAYPLAY_GET_VECTOR(world_ray_direction, "_optix_get_world_ray_direction")
RAYPLAY_GET_VECTOR(object_ray_origin, "_optix_get_object_ray_origin")
RAYPLAY_GET_VECTOR(object_ray_direction, "_optix_get_object_ray_direction")
RAYPLAY_GET_F32(ray_tmin, "_optix_get_ray_tmin")
RAYPLAY_GET_F32(ray_tmax, "_optix_get_ray_tmax")
RAYPLAY_GET_U32(ray_flags, "_optix_get_ray_flags")

// The hit, or the candidate that is being looked at.
RAYPLAY_GET_U32(primitive_index, "_optix_read_primitive_idx")
RAYPLAY_GET_U32(instance_index, "_optix_read_instance_idx")
RAYPLAY_GET_U32(instance_id, "_optix_read_instance_id")
RAYPLAY_GET_U32(geometry_index, "_optix_read_sbt_gas_idx")
RAYPLAY_GET_U32(hit_kind, "_optix_get_hit_kind")
RAYPLAY_GET_F32(curve_parameter, "_optix_get_curve_parameter")
RAYPLAY_ATTRIBUTE(0)
RAYPLAY_ATTRIBUTE(1)
RAYPLAY_ATTRIBUTE(2)
RAYPLAY_ATTRIBUTE(3)

// x is the weight of the triangle's second vertex, y of its third.
RAYPLAY_DEVICE float2 triangle_barycentrics() {
    float u, v;
    asm volatile("call (%0, %1), _optix_get_triangle_barycentrics, ();" : "=f"(u), "=f"(v));
    return make_float2(u, v);
}

// Centre and radius of a built-in sphere, and control points of a curve with their radii, as the scene has them.
RAYPLAY_DEVICE unsigned long long gas_handle() {
    unsigned long long handle;
    asm volatile("call (%0), _optix_get_gas_traversable_handle, ();" : "=l"(handle));
    return handle;
}

RAYPLAY_DEVICE float4 sphere_data(unsigned long long gas, unsigned primitive, unsigned geometry) {
    float4 s;
    asm volatile("call (%0, %1, %2, %3), _optix_get_sphere_data, (%4, %5, %6, %7);"
                 : "=f"(s.x), "=f"(s.y), "=f"(s.z), "=f"(s.w)
                 : "l"(gas), "r"(primitive), "r"(geometry), "f"(0.0f));
    return s;
}

#define RAYPLAY_TWO_POINTS(p) "=f"(p[0].x), "=f"(p[0].y), "=f"(p[0].z), "=f"(p[0].w), \
                              "=f"(p[1].x), "=f"(p[1].y), "=f"(p[1].z), "=f"(p[1].w)
#define RAYPLAY_THREE_POINTS(p) RAYPLAY_TWO_POINTS(p), "=f"(p[2].x), "=f"(p[2].y), "=f"(p[2].z), "=f"(p[2].w)
#define RAYPLAY_FOUR_POINTS(p) RAYPLAY_THREE_POINTS(p), "=f"(p[3].x), "=f"(p[3].y), "=f"(p[3].z), "=f"(p[3].w)
#define RAYPLAY_PLACE(gas, primitive, geometry) "l"(gas), "r"(primitive), "r"(geometry), "f"(0.0f)

RAYPLAY_DEVICE void linear_points(float4* p, unsigned long long gas, unsigned primitive, unsigned geometry) {
    asm volatile("call (%0, %1, %2, %3, %4, %5, %6, %7), _optix_get_linear_curve_vertex_data, (%8, %9, %10, %11);"
                 : RAYPLAY_TWO_POINTS(p) : RAYPLAY_PLACE(gas, primitive, geometry));
}

RAYPLAY_DEVICE void quadratic_points(float4* p, unsigned long long gas, unsigned primitive, unsigned geometry) {
    asm volatile("call (%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11),"
                 " _optix_get_quadratic_bspline_vertex_data, (%12, %13, %14, %15);"
                 : RAYPLAY_THREE_POINTS(p) : RAYPLAY_PLACE(gas, primitive, geometry));
}

#define RAYPLAY_CUBIC_POINTS(function, call)                                                                   \
    RAYPLAY_DEVICE void function(float4* p, unsigned long long gas, unsigned primitive, unsigned geometry) { \
        asm volatile("call (%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15), " call     \
                     ", (%16, %17, %18, %19);"                                                                \
                     : RAYPLAY_FOUR_POINTS(p) : RAYPLAY_PLACE(gas, primitive, geometry));                     \
    }
RAYPLAY_CUBIC_POINTS(cubic_bspline_points, "_optix_get_cubic_bspline_vertex_data")
RAYPLAY_CUBIC_POINTS(catmullrom_points, "_optix_get_catmullrom_vertex_data")
RAYPLAY_CUBIC_POINTS(cubic_bezier_points, "_optix_get_cubic_bezier_vertex_data")

// The user's part of the shader binding table record of the running program.
template <typename Record>
RAYPLAY_DEVICE const Record* sbt_data() {
    unsigned long long address;
    asm volatile("call (%0), _optix_get_sbt_data_ptr_64, ();" : "=l"(address));
    return reinterpret_cast<const Record*>(address);
}

RAYPLAY_DEVICE unsigned payload(unsigned slot) {
    unsigned value;
    asm volatile("call (%0), _optix_get_payload, (%1);" : "=r"(value) : "r"(slot));
    return value;
}

RAYPLAY_DEVICE void set_payload(unsigned slot, unsigned value) {
    asm volatile("call _optix_set_payload, (%0, %1);" : : "r"(slot), "r"(value));
}

// The structure in the caller's local memory whose address the ray carries in payload slots 0 and 1.
template <typename Payload>
RAYPLAY_DEVICE Payload* payload_pointer() {
    const unsigned long long low = payload(0), high = payload(1);
    return reinterpret_cast<Payload*>(high << 32 | low);
}

// True when the hit was accepted: t lies in the ray's interval and any-hit code, if any, did not ignore it.
RAYPLAY_DEVICE bool report_intersection(float t, unsigned kind, unsigned a0, unsigned a1, unsigned a2) {
    unsigned accepted;
    asm volatile("call (%0), _optix_report_intersection_3, (%1, %2, %3, %4, %5);"
                 : "=r"(accepted) : "f"(t), "r"(kind), "r"(a0), "r"(a1), "r"(a2) : "memory");
    return accepted != 0;
}

// The same without attributes, and with one.
RAYPLAY_DEVICE bool report_intersection(float t, unsigned kind) {
    unsigned accepted;
    asm volatile("call (%0), _optix_report_intersection_0, (%1, %2);"
                 : "=r"(accepted) : "f"(t), "r"(kind) : "memory");
    return accepted != 0;
}

RAYPLAY_DEVICE bool report_intersection(float t, unsigned kind, unsigned a0) {
    unsigned accepted;
    asm volatile("call (%0), _optix_report_intersection_1, (%1, %2, %3);"
                 : "=r"(accepted) : "f"(t), "r"(kind), "r"(a0) : "memory");
    return accepted != 0;
}

// Neither of these returns.
RAYPLAY_DEVICE void ignore_intersection() { asm volatile("call _optix_ignore_intersection, ();" ::: "memory"); }
RAYPLAY_DEVICE void terminate_ray() { asm volatile("call _optix_terminate_ray, ();" ::: "memory"); }

// Trace a ray whose payload is a structure in this thread's local memory.
// The call has 49 inputs and 32 outputs; the 30 payload slots that are not used are passed as 0.
RAYPLAY_DEVICE void trace(unsigned long long scene, float3 origin, float3 direction, float tmin, float tmax,
                          unsigned mask, unsigned flags, unsigned sbt_offset, unsigned sbt_stride, unsigned miss,
                          void* payload) {
    const unsigned long long address = reinterpret_cast<unsigned long long>(payload);
    unsigned p0 = static_cast<unsigned>(address), p1 = static_cast<unsigned>(address >> 32);
    const float time = 0.0f;
    const unsigned type = 0, slots = 2, zero = 0;
    asm volatile(
        "{\n\t.reg .b32 sink<30>;\n\t"
        "call (%0, %1, sink0, sink1, sink2, sink3, sink4, sink5, sink6, sink7, sink8, sink9, sink10, sink11, sink12,"
        " sink13, sink14, sink15, sink16, sink17, sink18, sink19, sink20, sink21, sink22, sink23, sink24, sink25,"
        " sink26, sink27, sink28, sink29), _optix_trace_typed_32,"
        " (%2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %0, %1,"
        " %19, %19, %19, %19, %19, %19, %19, %19, %19, %19, %19, %19, %19, %19, %19, %19, %19, %19, %19, %19,"
        " %19, %19, %19, %19, %19, %19, %19, %19, %19, %19);\n\t}"
        : "+r"(p0), "+r"(p1)
        : "r"(type), "l"(scene), "f"(origin.x), "f"(origin.y), "f"(origin.z), "f"(direction.x), "f"(direction.y),
          "f"(direction.z), "f"(tmin), "f"(tmax), "f"(time), "r"(mask), "r"(flags), "r"(sbt_offset), "r"(sbt_stride),
          "r"(miss), "r"(slots), "r"(zero)
        : "memory");
}

}  // namespace rayplay
