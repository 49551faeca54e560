// What examples/shaders/vulkan-sim does, as an OptiX-style program: the same arithmetic in the same order, so that rays, hits and
// pictures are equal bit for bit. nvcc -ptx -arch=sm_75 -std=c++17 -fmad=false -I../../../tracer/programs twin.cu
#include "vector_math.h"

namespace rayplay {

struct Words4 {
    float x, y, z, w;
};

struct Material {  // tracer/programs/scene.h
    Words4 albedo_fuzz, emission_ior;
    unsigned model, unused[7];
};

struct Params {
    Words4* image;
    unsigned long long scene;
    const Words4* world_to_object;
    unsigned width, height;
    Words4 view[4], projection[4];
};

struct TriangleRecord {
    const float* positions;
    const unsigned* indices;
    const unsigned short* material_numbers;
    const Material* materials;
};

struct SphereRecord {
    const Words4* spheres;
    const unsigned short* material_numbers;
    const Material* materials;
};

struct Payload {
    float3 colour;
    float distance;
    float3 normal;
};

extern "C" __constant__ Params params;

RAYPLAY_DEVICE float3 xyz(Words4 a) { return vector(a.x, a.y, a.z); }

RAYPLAY_DEVICE float3 to_world(float3 normal) {
    const Words4* rows = params.world_to_object + 3 * instance_index();
    const Words4 a = rows[0], b = rows[1], c = rows[2];
    return normalised(vector(a.x * normal.x + b.x * normal.y + c.x * normal.z,
                             a.y * normal.x + b.y * normal.y + c.y * normal.z,
                             a.z * normal.x + b.z * normal.y + c.z * normal.z));
}

RAYPLAY_DEVICE void surface(const Material& material, float3 normal) {
    Payload* payload = payload_pointer<Payload>();
    payload->colour = xyz(material.model == 3 ? material.emission_ior : material.albedo_fuzz);
    payload->distance = ray_tmax();
    payload->normal = dot(world_ray_direction(), normal) > 0.0f ? -normal : normal;
}

}  // namespace rayplay

using namespace rayplay;

extern "C" __global__ void __raygen__twin() {
    const unsigned x = launch_index_x(), y = launch_index_y();
    const float u = (x + 0.5f) * 2.0f * approximate_reciprocal(params.width) - 1.0f;
    const float v = (y + 0.5f) * 2.0f * approximate_reciprocal(params.height) - 1.0f;
    const Words4 *view = params.view, *plane = params.projection;
    const float3 t = normalised(xyz(plane[3]) + xyz(plane[2]) + v * xyz(plane[1]) + u * xyz(plane[0]));
    const float3 direction = t.z * xyz(view[2]) + t.y * xyz(view[1]) + t.x * xyz(view[0]), origin = xyz(view[3]);
    Payload payload;
    trace(params.scene, origin, direction, 0.001f, 10000.0f, 255, 0, 0, 1, 0, &payload);
    volatile float* const seen = &payload.distance;
    const float distance = *seen;
    float3 colour = *(float3*)&payload.colour;
    if (distance >= 0.0f) {
        const float3 point = origin + distance * direction + 0.001f * payload.normal;
        float lit = 0.25f;
        const unsigned flags = RAY_FLAG_TERMINATE_ON_FIRST_HIT | RAY_FLAG_NO_CLOSEST_HIT;
        trace(params.scene, point, vector(0.36f, 0.8f, 0.48f), 0.001f, 10000.0f, 255, flags, 0, 1, 1, &lit);
        colour = lit * colour;
    }
    params.image[y * params.width + x] = {colour.x, colour.y, colour.z, 1.0f};
}

extern "C" __global__ void __miss__sky() {
    const float share = 0.5f * (world_ray_direction().y + 1.0f);
    Payload* payload = payload_pointer<Payload>();
    payload->colour = vector(1.0f, 1.0f, 1.0f) + share * vector(-0.5f, -0.3f, 0.0f);
    payload->distance = -1.0f;
}

extern "C" __global__ void __miss__lit() { *payload_pointer<float>() = 1.0f; }

extern "C" __global__ void __closesthit__triangle() {
    const TriangleRecord* record = sbt_data<TriangleRecord>();
    const unsigned* corner = record->indices + 3 * primitive_index();
    float3 at[3];
    for (int k = 0; k < 3; ++k) {
        const float* p = record->positions + 3 * corner[k];
        at[k] = vector(p[0], p[1], p[2]);
    }
    surface(record->materials[record->material_numbers[primitive_index()]], to_world(cross(at[1] - at[0], at[2] - at[0])));
}

extern "C" __global__ void __anyhit__corner() {
    const float2 weight = triangle_barycentrics();
    if (weight.x + weight.y > 0.75f) ignore_intersection();
}

extern "C" __global__ void __closesthit__sphere() {
    const SphereRecord* record = sbt_data<SphereRecord>();
    const float3 normal = vector(__uint_as_float(attribute_0()), __uint_as_float(attribute_1()),
                                 __uint_as_float(attribute_2()));
    surface(record->materials[record->material_numbers[primitive_index()]], to_world(normal));
}

extern "C" __global__ void __intersection__sphere() {
    const Words4 sphere = sbt_data<SphereRecord>()->spheres[primitive_index()];
    const float3 direction = world_ray_direction(), offset = world_ray_origin() - xyz(sphere);
    const float a = dot(direction, direction), b = dot(offset, direction);
    const float c = dot(offset, offset) - sphere.w * sphere.w, discriminant = b * b - a * c;
    if (!(discriminant >= 0.0f)) return;
    const float root = approximate_sqrt(discriminant), inverse = approximate_reciprocal(a);
    const float first = (-b - root) * inverse, second = (-b + root) * inverse;
    const float t = ray_tmin() < first ? first : second;
    const float3 normal = approximate_reciprocal(sphere.w) * (offset + t * direction);
    report_intersection(t, 0, __float_as_uint(normal.x), __float_as_uint(normal.y), __float_as_uint(normal.z));
}
