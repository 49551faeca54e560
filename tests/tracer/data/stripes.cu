// Shaders of one's own: stripes along a varying that the vertex shader makes, tinted by a picture of the scene.
// nvcc -ptx -arch=sm_75 -std=c++17 -O3 stripes.cu

struct Params {
    const unsigned* vertices;
    const float* positions;
    float4* clip;
    float* level_out;
    const float* level;
    const unsigned* slots;
    float4* target;
    unsigned long long picture;
    unsigned length, invocations, instances;
    float stripes;
};
extern "C" {
__constant__ Params params;
}

extern "C" __global__ void flat() {  // x and y of the object are those of the picture
    unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
    if (thread >= params.invocations) return;
    const float* at = params.positions + 3 * params.vertices[thread % params.length];
    params.clip[thread] = make_float4(at[0], at[1], 0.5f, 1.0f);
    params.level_out[thread] = at[1];
}

extern "C" __global__ void striped() {
    unsigned thread = blockIdx.x * blockDim.x + threadIdx.x, slot = params.slots[thread];
    if (slot == 0xffffffffu) return;
    float level = params.level[thread] * params.stripes;
    float4 texel = params.picture ? tex2D<float4>(params.picture, 0.5f, 0.5f) : make_float4(1, 1, 1, 1);
    float on = level - floorf(level) < 0.5f ? 1.0f : 0.0f;
    params.target[slot] = make_float4(on * texel.x, on * texel.y, on * texel.z, 1.0f);
}

extern "C" __global__ void with_parameters(const float* a, float b) { params.target[0].x = a[0] + b; }
