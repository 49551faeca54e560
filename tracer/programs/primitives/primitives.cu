// Intersection programs of built-in spheres and curves (docs/programs.md#built-in-spheres-and-curves).
#include "../vector_math.h"

using namespace rayplay;

namespace {

// Hit kinds: 0x80 on the outside, 0xC0 on the inside, and the low bits of the primitive's type.
enum Kind : unsigned {
    SPHERE = 0x86, SPHERE_INSIDE = 0xC6, LINEAR = 0x83, QUADRATIC_BSPLINE = 0x81, CUBIC_BSPLINE = 0x82, CATMULLROM = 0x84,
    CUBIC_BEZIER = 0x87,
};
constexpr unsigned PIECES = 8;  // of a curved segment: cones between points on it
constexpr float NONE = 3.0e38f;

struct Ray {
    float3 origin, direction;  // of length 1, from a place near the primitive
    float first, step;         // the ray's own distance is first + step * the distance here
};

struct Found {
    float t, along;  // distance on the ray here, and how far from begin to end
};

RAYPLAY_DEVICE float3 place(float4 p) { return vector(p.x, p.y, p.z); }
RAYPLAY_DEVICE float root(float x) {
    float result;
    asm("sqrt.rn.f32 %0, %1;" : "=f"(result) : "f"(x));
    return result;
}
RAYPLAY_DEVICE float quotient(float x, float y) {
    float result;
    asm("div.rn.f32 %0, %1, %2;" : "=f"(result) : "f"(x), "f"(y));
    return result;
}

// The ray seen from where it passes a point closest, so that far origins cost no digits.
RAYPLAY_DEVICE Ray ray_past(float3 point) {
    const float3 origin = object_ray_origin(), direction = object_ray_direction();
    const float step = quotient(1.0f, root(dot(direction, direction)));
    const float3 unit = step * direction;
    const float closest = dot(point - origin, unit);
    return {origin + closest * unit, unit, closest * step, step};
}

// Where a ray enters the spheres between two: their envelope, a cone, else one of the two spheres where it counts.
RAYPLAY_DEVICE Found enter(const Ray& ray, float4 begin, float4 end, bool has_begin, bool has_end) {
    const float3 axis = place(end) - place(begin), from = ray.origin - place(begin), to = ray.origin - place(end);
    const float less = begin.w - end.w, length = dot(axis, axis);
    const float m1 = dot(axis, from), m2 = dot(axis, ray.direction), m3 = dot(ray.direction, from);
    const float m5 = dot(from, from), m6 = dot(to, ray.direction), m7 = dot(to, to);
    const float side = length - less * less;
    Found found = {NONE, 0.0f};
    if (side > 0.0f) {
        const float k2 = side - m2 * m2;
        const float k1 = side * m3 - m1 * m2 + m2 * less * begin.w;
        const float k0 = side * m5 - m1 * m1 + 2.0f * m1 * less * begin.w - length * begin.w * begin.w;
        const float h = k1 * k1 - k0 * k2;
        if (h < 0.0f && k2 > 0.0f) return found;
        const float t = quotient(-root(h) - k1, k2), along = m1 - begin.w * less + t * m2;
        if (along > 0.0f && along < side) return {t, quotient(along, side)};  // not where t is NaN: along the axis
    }
    const float h1 = m3 * m3 - m5 + begin.w * begin.w, h2 = m6 * m6 - m7 + end.w * end.w;
    if (has_begin && h1 > 0.0f) found = {-m3 - root(h1), 0.0f};
    if (has_end && h2 > 0.0f) {
        const float t = -m6 - root(h2);
        if (t < found.t) found = {t, 1.0f};
    }
    return found;
}

struct Curve {
    float4 c0, c1, c2, c3;  // coefficients of the powers of the parameter
};

RAYPLAY_DEVICE float4 mix(float a, float4 p, float b, float4 q, float c, float4 r, float d, float4 s) {
    return make_float4(a * p.x + b * q.x + c * r.x + d * s.x, a * p.y + b * q.y + c * r.y + d * s.y,
                       a * p.z + b * q.z + c * r.z + d * s.z, a * p.w + b * q.w + c * r.w + d * s.w);
}

RAYPLAY_DEVICE float4 at(const Curve& c, float u) {
    return make_float4(c.c0.x + u * (c.c1.x + u * (c.c2.x + u * c.c3.x)), c.c0.y + u * (c.c1.y + u * (c.c2.y + u * c.c3.y)),
                       c.c0.z + u * (c.c1.z + u * (c.c2.z + u * c.c3.z)), c.c0.w + u * (c.c1.w + u * (c.c2.w + u * c.c3.w)));
}

// Curved segments end openly, as OptiX's do by default: a ray that enters through an end passes to the inside.
RAYPLAY_DEVICE void intersect(const Curve& curve, unsigned kind) {
    const Ray ray = ray_past(place(at(curve, 0.5f)));
    const float least = quotient(ray_tmin() - ray.first, ray.step);
    Found nearest = {NONE, 0.0f};
    float4 begin = at(curve, 0.0f);
#pragma unroll 1
    for (unsigned piece = 0; piece < PIECES; ++piece) {
        const float4 end = at(curve, (piece + 1) * (1.0f / PIECES));
        const Found found = enter(ray, begin, end, piece > 0, piece + 1 < PIECES);
        if (found.t >= least && found.t < nearest.t) nearest = {found.t, (piece + found.along) * (1.0f / PIECES)};
        begin = end;
    }
    if (nearest.t < NONE) report_intersection(ray.first + ray.step * nearest.t, kind, __float_as_uint(nearest.along));
}

}  // namespace

extern "C" __global__ void __intersection__rayplay_sphere() {
    const float4 sphere = sphere_data(gas_handle(), primitive_index(), geometry_index());
    const Ray ray = ray_past(place(sphere));
    const float3 from = ray.origin - place(sphere);
    const float under = sphere.w * sphere.w - dot(from, from);
    if (under < 0.0f) return;
    const float half = ray.step * root(under);
    if (!report_intersection(ray.first - half, SPHERE)) report_intersection(ray.first + half, SPHERE_INSIDE);
}

extern "C" __global__ void __intersection__rayplay_linear() {
    float4 p[2];
    linear_points(p, gas_handle(), primitive_index(), geometry_index());
    const Ray ray = ray_past(0.5f * (place(p[0]) + place(p[1])));
    const Found found = enter(ray, p[0], p[1], true, true);
    if (found.t < NONE) report_intersection(ray.first + ray.step * found.t, LINEAR, __float_as_uint(found.along));
}

extern "C" __global__ void __intersection__rayplay_quadratic_bspline() {
    float4 p[3];
    quadratic_points(p, gas_handle(), primitive_index(), geometry_index());
    intersect({mix(0.5f, p[0], 0.5f, p[1], 0.0f, p[2], 0.0f, p[2]), mix(-1.0f, p[0], 1.0f, p[1], 0.0f, p[2], 0.0f, p[2]),
               mix(0.5f, p[0], -1.0f, p[1], 0.5f, p[2], 0.0f, p[2]), make_float4(0.0f, 0.0f, 0.0f, 0.0f)},
              QUADRATIC_BSPLINE);
}

extern "C" __global__ void __intersection__rayplay_cubic_bspline() {
    constexpr float SIXTH = 1.0f / 6.0f;
    float4 p[4];
    cubic_bspline_points(p, gas_handle(), primitive_index(), geometry_index());
    intersect({mix(SIXTH, p[0], 4.0f * SIXTH, p[1], SIXTH, p[2], 0.0f, p[3]), mix(-0.5f, p[0], 0.0f, p[1], 0.5f, p[2], 0.0f, p[3]),
               mix(0.5f, p[0], -1.0f, p[1], 0.5f, p[2], 0.0f, p[3]), mix(-SIXTH, p[0], 0.5f, p[1], -0.5f, p[2], SIXTH, p[3])},
              CUBIC_BSPLINE);
}

extern "C" __global__ void __intersection__rayplay_catmullrom() {
    float4 p[4];
    catmullrom_points(p, gas_handle(), primitive_index(), geometry_index());
    intersect({p[1], mix(-0.5f, p[0], 0.0f, p[1], 0.5f, p[2], 0.0f, p[3]), mix(1.0f, p[0], -2.5f, p[1], 2.0f, p[2], -0.5f, p[3]),
               mix(-0.5f, p[0], 1.5f, p[1], -1.5f, p[2], 0.5f, p[3])},
              CATMULLROM);
}

extern "C" __global__ void __intersection__rayplay_cubic_bezier() {
    float4 p[4];
    cubic_bezier_points(p, gas_handle(), primitive_index(), geometry_index());
    intersect({p[0], mix(-3.0f, p[0], 3.0f, p[1], 0.0f, p[2], 0.0f, p[3]), mix(3.0f, p[0], -6.0f, p[1], 3.0f, p[2], 0.0f, p[3]),
               mix(-1.0f, p[0], 3.0f, p[1], -3.0f, p[2], 1.0f, p[3])},
              CUBIC_BEZIER);
}
