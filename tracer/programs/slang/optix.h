// The part of OptiX's device interface that code made by slangc uses, each function one call of the PTX interface.
//
// Written from the names and argument lists of the interface alone (docs/sources/optix.md#trace, #getters, #reports).
// It stands in for the header of that name, which needs NVIDIA's licence.
#pragma once

#define OPTIX_VERSION 80100
#define RAYPLAY_OPTIX static __forceinline__ __device__

// slangc reads parameters through the read-only cache, launch parameters too: those lie in constant memory.
template <typename T>
RAYPLAY_OPTIX T rayplay_read(const T* place) {
    return __isConstant(place) ? *place : __ldg(place);
}
#define __ldg(place) rayplay_read(place)

typedef unsigned long long OptixTraversableHandle;
typedef unsigned int OptixVisibilityMask;

#define RAYPLAY_U32(function, name)                                              \
    RAYPLAY_OPTIX unsigned function() {                                          \
        unsigned value;                                                          \
        asm volatile("call (%0), _optix_" name ", ();" : "=r"(value));           \
        return value;                                                            \
    }
#define RAYPLAY_F32(function, name)                                              \
    RAYPLAY_OPTIX float function() {                                             \
        float value;                                                             \
        asm volatile("call (%0), _optix_" name ", ();" : "=f"(value));           \
        return value;                                                            \
    }
#define RAYPLAY_UINT3(function, name)                                            \
    RAYPLAY_OPTIX uint3 function() {                                             \
        uint3 value;                                                             \
        asm volatile("call (%0), _optix_" name "_x, ();" : "=r"(value.x));       \
        asm volatile("call (%0), _optix_" name "_y, ();" : "=r"(value.y));       \
        asm volatile("call (%0), _optix_" name "_z, ();" : "=r"(value.z));       \
        return value;                                                            \
    }
#define RAYPLAY_FLOAT3(function, name)                                           \
    RAYPLAY_OPTIX float3 function() {                                            \
        float3 value;                                                            \
        asm volatile("call (%0), _optix_" name "_x, ();" : "=f"(value.x));       \
        asm volatile("call (%0), _optix_" name "_y, ();" : "=f"(value.y));       \
        asm volatile("call (%0), _optix_" name "_z, ();" : "=f"(value.z));       \
        return value;                                                            \
    }
#define RAYPLAY_PAYLOAD(slot)                                                                              \
    RAYPLAY_OPTIX unsigned optixGetPayload_##slot() {                                                      \
        unsigned value;                                                                                    \
        asm volatile("call (%0), _optix_get_payload, (%1);" : "=r"(value) : "r"(slot));                    \
        return value;                                                                                      \
    }                                                                                                      \
    RAYPLAY_OPTIX void optixSetPayload_##slot(unsigned value) {                                            \
        asm volatile("call _optix_set_payload, (%0, %1);" : : "r"(slot), "r"(value));                      \
    }
#define RAYPLAY_ATTRIBUTE(slot)                                                                            \
    RAYPLAY_OPTIX unsigned optixGetAttribute_##slot() {                                                    \
        unsigned value;                                                                                    \
        asm volatile("call (%0), _optix_get_attribute_" #slot ", ();" : "=r"(value));                      \
        return value;                                                                                      \
    }

RAYPLAY_UINT3(optixGetLaunchIndex, "get_launch_index")
RAYPLAY_UINT3(optixGetLaunchDimensions, "get_launch_dimension")
RAYPLAY_FLOAT3(optixGetWorldRayOrigin, "get_world_ray_origin")
RAYPLAY_FLOAT3(optixGetWorldRayDirection, "get_world_ray_direction")
RAYPLAY_FLOAT3(optixGetObjectRayOrigin, "get_object_ray_origin")
RAYPLAY_FLOAT3(optixGetObjectRayDirection, "get_object_ray_direction")
RAYPLAY_F32(optixGetRayTmin, "get_ray_tmin")
RAYPLAY_F32(optixGetRayTmax, "get_ray_tmax")
RAYPLAY_F32(optixGetRayTime, "get_ray_time")
RAYPLAY_U32(optixGetRayFlags, "get_ray_flags")
RAYPLAY_U32(optixGetPrimitiveIndex, "read_primitive_idx")
RAYPLAY_U32(optixGetInstanceIndex, "read_instance_idx")
RAYPLAY_U32(optixGetInstanceId, "read_instance_id")
RAYPLAY_U32(optixGetSbtGASIndex, "read_sbt_gas_idx")
RAYPLAY_U32(optixGetHitKind, "get_hit_kind")

RAYPLAY_PAYLOAD(0) RAYPLAY_PAYLOAD(1) RAYPLAY_PAYLOAD(2) RAYPLAY_PAYLOAD(3)
RAYPLAY_PAYLOAD(4) RAYPLAY_PAYLOAD(5) RAYPLAY_PAYLOAD(6) RAYPLAY_PAYLOAD(7)
RAYPLAY_PAYLOAD(8) RAYPLAY_PAYLOAD(9) RAYPLAY_PAYLOAD(10) RAYPLAY_PAYLOAD(11)
RAYPLAY_PAYLOAD(12) RAYPLAY_PAYLOAD(13) RAYPLAY_PAYLOAD(14) RAYPLAY_PAYLOAD(15)
RAYPLAY_PAYLOAD(16) RAYPLAY_PAYLOAD(17) RAYPLAY_PAYLOAD(18) RAYPLAY_PAYLOAD(19)
RAYPLAY_PAYLOAD(20) RAYPLAY_PAYLOAD(21) RAYPLAY_PAYLOAD(22) RAYPLAY_PAYLOAD(23)
RAYPLAY_PAYLOAD(24) RAYPLAY_PAYLOAD(25) RAYPLAY_PAYLOAD(26) RAYPLAY_PAYLOAD(27)
RAYPLAY_PAYLOAD(28) RAYPLAY_PAYLOAD(29) RAYPLAY_PAYLOAD(30) RAYPLAY_PAYLOAD(31)
RAYPLAY_ATTRIBUTE(0) RAYPLAY_ATTRIBUTE(1) RAYPLAY_ATTRIBUTE(2) RAYPLAY_ATTRIBUTE(3)
RAYPLAY_ATTRIBUTE(4) RAYPLAY_ATTRIBUTE(5) RAYPLAY_ATTRIBUTE(6) RAYPLAY_ATTRIBUTE(7)

RAYPLAY_OPTIX float2 optixGetTriangleBarycentrics() {
    float2 value;
    asm volatile("call (%0, %1), _optix_get_triangle_barycentrics, ();" : "=f"(value.x), "=f"(value.y));
    return value;
}

RAYPLAY_OPTIX unsigned long long optixGetSbtDataPointer() {
    unsigned long long address;
    asm volatile("call (%0), _optix_get_sbt_data_ptr_64, ();" : "=l"(address));
    return address;
}

// Neither returns.
RAYPLAY_OPTIX void optixIgnoreIntersection() { asm volatile("call _optix_ignore_intersection, ();" ::: "memory"); }
RAYPLAY_OPTIX void optixTerminateRay() { asm volatile("call _optix_terminate_ray, ();" ::: "memory"); }

template <typename... Words>
RAYPLAY_OPTIX bool optixReportIntersection(float t, unsigned kind, Words... words) {
    const unsigned a[9] = {static_cast<unsigned>(words)..., 0};
    unsigned accepted;
    asm volatile("call (%0), _optix_report_intersection_8, (%1, %2, %3, %4, %5, %6, %7, %8, %9, %10);"
                 : "=r"(accepted)
                 : "f"(t), "r"(kind), "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(a[4]), "r"(a[5]), "r"(a[6]), "r"(a[7])
                 : "memory");
    return accepted != 0;
}

#define RAYPLAY_SLOTS                                                                                      \
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21,"  \
    " %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define RAYPLAY_WORDS(p)                                                                                   \
    "+r"(p[0]), "+r"(p[1]), "+r"(p[2]), "+r"(p[3]), "+r"(p[4]), "+r"(p[5]), "+r"(p[6]), "+r"(p[7]),        \
        "+r"(p[8]), "+r"(p[9]), "+r"(p[10]), "+r"(p[11]), "+r"(p[12]), "+r"(p[13]), "+r"(p[14]),           \
        "+r"(p[15]), "+r"(p[16]), "+r"(p[17]), "+r"(p[18]), "+r"(p[19]), "+r"(p[20]), "+r"(p[21]),         \
        "+r"(p[22]), "+r"(p[23]), "+r"(p[24]), "+r"(p[25]), "+r"(p[26]), "+r"(p[27]), "+r"(p[28]),         \
        "+r"(p[29]), "+r"(p[30]), "+r"(p[31])
// A call with a ray and the words of a payload, whose results are the words.
#define RAYPLAY_TRACE(name)                                                                                \
    constexpr unsigned count = sizeof...(Words);                                                           \
    static_assert(count <= 32, "a payload must have at most 32 registers");                                \
    unsigned p[33] = {words..., 0};                                                                        \
    asm volatile("call (" RAYPLAY_SLOTS "), " name ", (%32, %33, %34, %35, %36, %37, %38, %39, %40, %41,"  \
                 " %42, %43, %44, %45, %46, %47, %48, " RAYPLAY_SLOTS ");"                                 \
                 : RAYPLAY_WORDS(p)                                                                        \
                 : "r"(0), "l"(scene), "f"(origin.x), "f"(origin.y), "f"(origin.z), "f"(direction.x),      \
                   "f"(direction.y), "f"(direction.z), "f"(tmin), "f"(tmax), "f"(time), "r"(mask),         \
                   "r"(flags), "r"(sbt_offset), "r"(sbt_stride), "r"(miss), "r"(count)                     \
                 : "memory");                                                                              \
    unsigned next = 0;                                                                                     \
    ((words = p[next++]), ...);

template <typename... Words>
RAYPLAY_OPTIX void optixTrace(OptixTraversableHandle scene, float3 origin, float3 direction, float tmin, float tmax,
                              float time, OptixVisibilityMask mask, unsigned flags, unsigned sbt_offset,
                              unsigned sbt_stride, unsigned miss, Words&... words) {
    RAYPLAY_TRACE("_optix_trace_typed_32")
}

#include "hit_objects.h"

// The instance's matrix, twelve floats row by row: of the only transform in the list, identity where there is none.
RAYPLAY_OPTIX const float4* optixGetInstanceTransformFromHandle(OptixTraversableHandle handle) {
    unsigned long long address;
    asm volatile("call (%0), _optix_get_instance_transform_from_handle, (%1);" : "=l"(address) : "l"(handle));
    return reinterpret_cast<const float4*>(address);
}

RAYPLAY_OPTIX const float4* optixGetInstanceInverseTransformFromHandle(OptixTraversableHandle handle) {
    unsigned long long address;
    asm volatile("call (%0), _optix_get_instance_inverse_transform_from_handle, (%1);" : "=l"(address) : "l"(handle));
    return reinterpret_cast<const float4*>(address);
}

RAYPLAY_OPTIX void rayplay_matrix(float* matrix, bool inverse) {
    unsigned count;
    asm volatile("call (%0), _optix_get_transform_list_size, ();" : "=r"(count));
    for (int k = 0; k < 12; ++k) matrix[k] = k % 5 == 0 ? 1.0f : 0.0f;
    if (count == 0) return;
    OptixTraversableHandle handle;
    asm volatile("call (%0), _optix_get_transform_list_handle, (%1);" : "=l"(handle) : "r"(0));
    const float4* rows =
        inverse ? optixGetInstanceInverseTransformFromHandle(handle) : optixGetInstanceTransformFromHandle(handle);
    for (int row = 0; row < 3; ++row) {
        const float4 found = rows[row];
        matrix[4 * row] = found.x, matrix[4 * row + 1] = found.y;
        matrix[4 * row + 2] = found.z, matrix[4 * row + 3] = found.w;
    }
}

RAYPLAY_OPTIX void optixGetObjectToWorldTransformMatrix(float* matrix) { rayplay_matrix(matrix, false); }
RAYPLAY_OPTIX void optixGetWorldToObjectTransformMatrix(float* matrix) { rayplay_matrix(matrix, true); }
