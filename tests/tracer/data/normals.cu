// A program that knows nothing of this project's header: it speaks the interface of the SDK's first release (trace_3,
// numbered payload registers), shades by geometric normal and barycentrics, and writes bytes to its own buffer.
typedef unsigned int u32;
typedef unsigned long long u64;

struct LaunchParams {
    uchar4* frame;
    u32 columns, rows;
    u64 top;
    float3 position, across, upwards, ahead;
    u32* hits;
};
extern "C" {
__constant__ LaunchParams optixLaunchParams;
}

struct MissData {
    float3 background;
};
struct HitData {
    float blend;
    u32 primitives;
};

static __device__ u32 launch_x() { u32 r; asm volatile("call (%0), _optix_get_launch_index_x, ();" : "=r"(r) :); return r; }
static __device__ u32 launch_y() { u32 r; asm volatile("call (%0), _optix_get_launch_index_y, ();" : "=r"(r) :); return r; }
static __device__ u64 record() { u64 r; asm volatile("call (%0), _optix_get_sbt_data_ptr_64, ();" : "=l"(r) :); return r; }

static __device__ void put_colour(float r, float g, float b) {
    asm volatile("call _optix_set_payload_0, (%0);" : : "r"(__float_as_uint(r)));
    asm volatile("call _optix_set_payload_1, (%0);" : : "r"(__float_as_uint(g)));
    asm volatile("call _optix_set_payload_2, (%0);" : : "r"(__float_as_uint(b)));
}

static __device__ unsigned char to_byte(float x) { return (unsigned char)(255.0f * fminf(fmaxf(x, 0.0f), 1.0f)); }

extern "C" __global__ void __raygen__pinhole() {
    const u32 x = launch_x(), y = launch_y();
    const LaunchParams& p = optixLaunchParams;
    const float u = 2.0f * (x + 0.5f) / p.columns - 1.0f, v = 1.0f - 2.0f * (y + 0.5f) / p.rows;
    const float dx = p.ahead.x + u * p.across.x + v * p.upwards.x;
    const float dy = p.ahead.y + u * p.across.y + v * p.upwards.y;
    const float dz = p.ahead.z + u * p.across.z + v * p.upwards.z;
    const float tmin = 0.0f, tmax = 1e16f, time = 0.0f;
    const u32 mask = 255, flags = 0, offset = 0, stride = 1, miss = 0;
    u32 red = 0, green = 0, blue = 0;
    asm volatile("call (%0, %1, %2), _optix_trace_3, (%3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16,"
                 " %17, %18, %19, %20);"
                 : "=r"(red), "=r"(green), "=r"(blue)
                 : "l"(p.top), "f"(p.position.x), "f"(p.position.y), "f"(p.position.z), "f"(dx), "f"(dy), "f"(dz),
                   "f"(tmin), "f"(tmax), "f"(time), "r"(mask), "r"(flags), "r"(offset), "r"(stride), "r"(miss),
                   "r"(red), "r"(green), "r"(blue)
                 : "memory");
    const u32 pixel = y * p.columns + x;
    p.frame[pixel] = make_uchar4(to_byte(__uint_as_float(red)), to_byte(__uint_as_float(green)),
                                 to_byte(__uint_as_float(blue)), 255);
    p.hits[pixel] += 1;
}

extern "C" __global__ void __miss__background() {
    const float3 colour = reinterpret_cast<const MissData*>(record())->background;
    put_colour(colour.x, colour.y, colour.z);
}

extern "C" __global__ void __closesthit__normal() {
    const HitData* data = reinterpret_cast<const HitData*>(record());
    u64 mesh;
    u32 primitive, geometry;
    asm volatile("call (%0), _optix_get_gas_traversable_handle, ();" : "=l"(mesh));
    asm volatile("call (%0), _optix_read_primitive_idx, ();" : "=r"(primitive));
    asm volatile("call (%0), _optix_read_sbt_gas_idx, ();" : "=r"(geometry));
    const float time = 0.0f;
    float ax, ay, az, bx, by, bz, cx, cy, cz, u, v;
    asm volatile("call (%0, %1, %2, %3, %4, %5, %6, %7, %8), _optix_get_triangle_vertex_data, (%9, %10, %11, %12);"
                 : "=f"(ax), "=f"(ay), "=f"(az), "=f"(bx), "=f"(by), "=f"(bz), "=f"(cx), "=f"(cy), "=f"(cz)
                 : "l"(mesh), "r"(primitive), "r"(geometry), "f"(time));
    asm volatile("call (%0, %1), _optix_get_triangle_barycentrics, ();" : "=f"(u), "=f"(v));
    bx -= ax, by -= ay, bz -= az, cx -= ax, cy -= ay, cz -= az;
    const float nx = by * cz - bz * cy, ny = bz * cx - bx * cz, nz = bx * cy - by * cx;
    const float scale = 1.0f / sqrtf(nx * nx + ny * ny + nz * nz);
    const float blend = primitive < data->primitives ? data->blend : 0.0f;
    put_colour(fabsf(nx * scale) * (1.0f - blend) + u * blend, fabsf(ny * scale) * (1.0f - blend) + v * blend,
               fabsf(nz * scale) * (1.0f - blend));
}

// Every second triangle is a hole.
extern "C" __global__ void __anyhit__odd() {
    u32 primitive;
    asm volatile("call (%0), _optix_read_primitive_idx, ();" : "=r"(primitive));
    if (primitive % 2 == 0) asm volatile("call _optix_ignore_intersection, ();");
}
