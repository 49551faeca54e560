// Hit objects as code made by slangc uses them: a program has one, so that no function names it.
//
// Written from the names and argument lists of the interface alone (docs/sources/optix.md#hit-objects).
#pragma once

template <typename... Words>
RAYPLAY_OPTIX void optixTraverse(OptixTraversableHandle scene, float3 origin, float3 direction, float tmin, float tmax,
                                 float time, OptixVisibilityMask mask, unsigned flags, unsigned sbt_offset,
                                 unsigned sbt_stride, unsigned miss, Words&... words) {
    RAYPLAY_TRACE("_optix_hitobject_traverse")
}

template <typename... Words>
RAYPLAY_OPTIX void optixInvoke(Words&... words) {
    constexpr unsigned count = sizeof...(Words);
    static_assert(count <= 32, "a payload must have at most 32 registers");
    unsigned p[33] = {words..., 0};
    asm volatile("call (" RAYPLAY_SLOTS "), _optix_hitobject_invoke, (%32, %33, " RAYPLAY_SLOTS ");"
                 : RAYPLAY_WORDS(p)
                 : "r"(0), "r"(count)
                 : "memory");
    unsigned next = 0;
    ((words = p[next++]), ...);
}

RAYPLAY_OPTIX void optixReorder(unsigned hint, unsigned bits) {
    asm volatile("call _optix_hitobject_reorder, (%0, %1);" : : "r"(hint), "r"(bits));
}
RAYPLAY_OPTIX void optixReorder() { optixReorder(0, 0); }

RAYPLAY_OPTIX void optixMakeNopHitObject() { asm volatile("call _optix_hitobject_make_nop, ();"); }
RAYPLAY_OPTIX void optixMakeMissHitObject(unsigned miss, float3 origin, float3 direction, float tmin, float tmax,
                                          float time) {
    asm volatile("call _optix_hitobject_make_miss, (%0, %1, %2, %3, %4, %5, %6, %7, %8, %9);"
                 :
                 : "r"(miss), "f"(origin.x), "f"(origin.y), "f"(origin.z), "f"(direction.x), "f"(direction.y),
                   "f"(direction.z), "f"(tmin), "f"(tmax), "f"(time));
}

// Hits made from data are not built: a program that makes one is refused by name.
template <typename... Rest>
__device__ void optixMakeHitObject(OptixTraversableHandle scene, Rest... rest);
template <typename... Rest>
__device__ void optixMakeHitObjectWithRecord(OptixTraversableHandle scene, Rest... rest);

RAYPLAY_U32(optixHitObjectIsHit, "hitobject_is_hit")
RAYPLAY_U32(optixHitObjectIsMiss, "hitobject_is_miss")
RAYPLAY_U32(optixHitObjectIsNop, "hitobject_is_nop")
RAYPLAY_U32(optixHitObjectGetHitKind, "hitobject_get_hitkind")
RAYPLAY_U32(optixHitObjectGetInstanceId, "hitobject_get_instance_id")
RAYPLAY_U32(optixHitObjectGetInstanceIndex, "hitobject_get_instance_idx")
RAYPLAY_U32(optixHitObjectGetPrimitiveIndex, "hitobject_get_primitive_idx")
RAYPLAY_U32(optixHitObjectGetSbtGASIndex, "hitobject_get_sbt_gas_idx")
RAYPLAY_U32(optixHitObjectGetSbtRecordIndex, "hitobject_get_sbt_record_index")
RAYPLAY_F32(optixHitObjectGetRayTmin, "hitobject_get_ray_tmin")
RAYPLAY_F32(optixHitObjectGetRayTmax, "hitobject_get_ray_tmax")
RAYPLAY_F32(optixHitObjectGetRayTime, "hitobject_get_ray_time")
RAYPLAY_FLOAT3(optixHitObjectGetWorldRayOrigin, "hitobject_get_world_ray_origin")
RAYPLAY_FLOAT3(optixHitObjectGetWorldRayDirection, "hitobject_get_world_ray_direction")

#define RAYPLAY_OBJECT_ATTRIBUTE(slot)                                                                     \
    RAYPLAY_OPTIX unsigned optixHitObjectGetAttribute_##slot() {                                           \
        unsigned value;                                                                                    \
        asm volatile("call (%0), _optix_hitobject_get_attribute, (%1);" : "=r"(value) : "r"(slot));        \
        return value;                                                                                      \
    }
RAYPLAY_OBJECT_ATTRIBUTE(0) RAYPLAY_OBJECT_ATTRIBUTE(1) RAYPLAY_OBJECT_ATTRIBUTE(2) RAYPLAY_OBJECT_ATTRIBUTE(3)
RAYPLAY_OBJECT_ATTRIBUTE(4) RAYPLAY_OBJECT_ATTRIBUTE(5) RAYPLAY_OBJECT_ATTRIBUTE(6) RAYPLAY_OBJECT_ATTRIBUTE(7)
