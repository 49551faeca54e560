// Neither CUDA headers nor libraries: attributes and wrappers by hand. Compiled with
// clang-14 -x cuda --cuda-device-only --cuda-gpu-arch=sm_75 -nocudainc -nocudalib -O3 -S gradient.cu -o gradient.ptx
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __constant__ __attribute__((constant))
struct Params { float* image; unsigned width; };
extern "C" { __constant__ Params params; }
static __device__ unsigned launch_x() { unsigned r; asm volatile("call (%0), _optix_get_launch_index_x, ();" : "=r"(r)); return r; }
static __device__ unsigned launch_y() { unsigned r; asm volatile("call (%0), _optix_get_launch_index_y, ();" : "=r"(r)); return r; }
extern "C" __global__ void __raygen__gradient() {
    float* pixel = params.image + 4 * (launch_y() * params.width + launch_x());
    pixel[0] = (float)launch_x() / params.width; pixel[1] = 0.25f; pixel[2] = 0.5f;
}
