// What the scene's materials do to a ray: the colour of the hit, and where the path continues.
//
// Paths end at a back face of diffuse and metallic surfaces, and diffuse ones scatter with density 2 cos^3 / pi about the
// normal, as in the built-in programs (tracer/programs/surfaces.h), whose pictures these materials share.
#pragma once

#include "gallery.h"

namespace gallery {

struct Surface {
    const Material* material;
    float3 incoming, normal, colour, outgoing;
    float distance;  // negative after a miss
    unsigned scatters;
    Random random;
};

RAYPLAY_DEVICE void leave(Surface& s, float3 colour, float3 outgoing, bool scatters) {
    s.colour = colour, s.outgoing = outgoing, s.scatters = scatters;
}

RAYPLAY_DEVICE void lambertian(Surface& s) {
    const bool front = dot(s.incoming, s.normal) < 0.0f;
    const float cosine = approximate_sqrt(approximate_sqrt(uniform(s.random)));
    const float3 direction = turned(direction_around(cosine, 2.0f * PI * uniform(s.random)), s.normal);
    leave(s, front ? colour_of(*s.material) : black(), direction, front);
}

RAYPLAY_DEVICE void metallic(Surface& s) {
    const bool front = dot(s.incoming, s.normal) < 0.0f;
    const float3 fuzz = s.material->albedo_fuzz.w * point_in_ball(s.random);
    leave(s, front ? colour_of(*s.material) : black(), reflected(s.incoming, s.normal) + fuzz, front);
}

RAYPLAY_DEVICE void dielectric(Surface& s) {
    float3 refracted = s.incoming;
    const float share = reflectance(s.incoming, s.normal, s.material->emission_ior.w, refracted);
    const bool mirrored = uniform(s.random) < share;
    leave(s, vector(1.0f, 1.0f, 1.0f), mirrored ? reflected(s.incoming, s.normal) : refracted, true);
}

RAYPLAY_DEVICE void light(Surface& s) { leave(s, emission_of(*s.material), s.normal, false); }

}  // namespace gallery
