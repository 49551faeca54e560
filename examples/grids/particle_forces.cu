// Forces between particles of neighbouring boxes, in the manner of Rodinia's lavaMD: a CTA per box, whose threads loop
// over the box's own particles and those of up to 26 boxes around it, kept in shared memory box by box.
constexpr int PARTICLES = 64;

struct Setup {
    int boxes_per_side;
    int has_cut_off;  // 1: pairs further apart than the width of a box do not interact
    float alpha_squared;
    float box_width;
};

extern "C" __global__ void particle_forces(const float4 *particles, float4 *forces, Setup setup) {
    __shared__ float4 others[PARTICLES];
    int side = setup.boxes_per_side, x = blockIdx.x, y = blockIdx.y, z = blockIdx.z;
    int self = ((z * side + y) * side + x) * PARTICLES + threadIdx.x;
    float4 here = particles[self], force = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    for (int near = 0; near < 27; near++) {
        int nx = x + near % 3 - 1, ny = y + near / 3 % 3 - 1, nz = z + near / 9 - 1;
        if (nx < 0 || ny < 0 || nz < 0 || nx >= side || ny >= side || nz >= side) continue;
        __syncthreads();
        others[threadIdx.x] = particles[((nz * side + ny) * side + nx) * PARTICLES + threadIdx.x];
        __syncthreads();
        for (int k = 0; k < PARTICLES; k++) {
            float dx = here.x - others[k].x, dy = here.y - others[k].y, dz = here.z - others[k].z;
            float r2 = dx * dx + dy * dy + dz * dz;
            if (setup.has_cut_off && r2 > setup.box_width * setup.box_width) continue;
            float potential = others[k].w * expf(-setup.alpha_squared * r2);
            force.x += potential * dx;
            force.y += potential * dy;
            force.z += potential * dz;
            force.w += potential;
        }
    }
    forces[self] = force;
}
