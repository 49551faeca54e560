// A small OptiX program for the tests. rays.ptx: nvcc -ptx -arch=sm_75 -rdc=true --use_fast_math rays.cu -o rays.ptx
struct Params { unsigned long long handle; float4* image; unsigned width; };
extern "C" __constant__ Params params;

#define GET_U(name) \
    static __device__ unsigned name() { unsigned r; asm volatile("call (%0), _optix_" #name ", ();" : "=r"(r)); return r; }
GET_U(get_launch_index_x)
GET_U(get_launch_index_y)
GET_U(read_primitive_idx)
static __device__ float ray_tmax() { float r; asm volatile("call (%0), _optix_get_ray_tmax, ();" : "=f"(r)); return r; }

static __device__ unsigned trace(float x, float y, unsigned p) {
    unsigned out;
    float z = -1.0f, zero = 0.0f, one = 1.0f, far = 1e16f;
    unsigned mask = 255, none = 0;
    asm volatile("call (%0), _optix_trace_1, (%1, %2, %3, %4, %5, %5, %6, %5, %7, %5, %8, %9, %9, %9, %9, %10);"
                 : "=r"(out) : "l"(params.handle), "f"(x), "f"(y), "f"(z), "f"(zero), "f"(one), "f"(far), "r"(mask), "r"(none), "r"(p));
    return out;
}

extern "C" __global__ void __raygen__image() {
    unsigned x = get_launch_index_x(), y = get_launch_index_y();
    if (x == 3) return;
    unsigned p = 0;
    for (int i = 0; i < 3; i++) {
        p = trace(0.1f * x, 0.1f * y, p);
        if (p == 7) return;
    }
    params.image[y * params.width + x] = make_float4(p, p, p, 1.0f);
}
extern "C" __global__ void __miss__sky() { asm volatile("call _optix_set_payload_0, (%0);" ::"r"(5)); }
extern "C" __global__ void __closesthit__surface() {
    unsigned p = read_primitive_idx() + (unsigned)ray_tmax();
    asm volatile("call _optix_set_payload, (%0, %1);" ::"r"(0), "r"(p));
}
extern "C" __global__ void __anyhit__cut() {
    if (read_primitive_idx() & 1) asm volatile("call _optix_ignore_intersection, ();");
    asm volatile("call _optix_set_payload_0, (%0);" ::"r"(9));
}
extern "C" __global__ void __intersection__shape() {
    unsigned accepted, kind = 3;
    float t = ray_tmax() * 0.5f;
    asm volatile("call (%0), _optix_report_intersection_1, (%1, %2, %2);" : "=r"(accepted) : "f"(t), "r"(kind));
    if (accepted) params.image[0].x = t;
}
