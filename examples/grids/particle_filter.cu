// Resampling of a particle filter, in the manner of Rodinia's particlefilter: each thread looks for the first particle
// whose cumulative weight reaches its random number, and takes that particle's place.
extern "C" __global__ void find_index(const double *x, const double *y, const double *cumulative, const double *draws,
                                      double *new_x, double *new_y, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    int index = -1;
    for (int k = 0; k < count; k++) {
        if (cumulative[k] >= draws[i]) {
            index = k;
            break;
        }
    }
    if (index == -1) index = count - 1;
    new_x[i] = x[index];
    new_y[i] = y[index];
}

// Likelihood of a particle: how well a disc of pixels around it fits the target's brightness
extern "C" __global__ void likelihood(const double *x, const double *y, const unsigned char *image, double *weights,
                                      int count, int side, int radius) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    int column = (int)x[i], row = (int)y[i];
    double sum = 0.0;
    int pixels = 0;
    for (int dy = -radius; dy <= radius; dy++) {
        for (int dx = -radius; dx <= radius; dx++) {
            int px = column + dx, py = row + dy;
            if (dx * dx + dy * dy > radius * radius || px < 0 || py < 0 || px >= side || py >= side) continue;
            double value = image[py * side + px];
            sum += ((value - 100.0) * (value - 100.0) - (value - 228.0) * (value - 228.0)) / 50.0;
            pixels++;
        }
    }
    weights[i] = exp(sum / pixels / 1000.0);
}
