// One step of heat in a box of cells, in the manner of Rodinia's hotspot3D: a thread walks along z and keeps the cells
// above and below in registers.
extern "C" __global__ void hotspot_3d(const float *power, const float *before, float *after, int nx, int ny, int nz,
                                      float ce, float cn, float ct, float cc, float step_over_capacity) {
    constexpr float AMBIENT = 80.0f;
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= nx || j >= ny) return;
    int plane = nx * ny, at = i + j * nx;
    int west = i == 0 ? at : at - 1, east = i == nx - 1 ? at : at + 1;
    int north = j == 0 ? at : at - nx, south = j == ny - 1 ? at : at + nx;
    float below = before[at], here = below, above = nz > 1 ? before[at + plane] : here;
    for (int k = 0; k < nz; k++) {
        int z = k * plane;
        after[at + z] = cc * here + cn * (before[north + z] + before[south + z]) +
                        ce * (before[east + z] + before[west + z]) + ct * (below + above) +
                        step_over_capacity * power[at + z] + ct * AMBIENT;
        below = here;
        here = above;
        if (k + 2 < nz) above = before[at + z + 2 * plane];
    }
}
