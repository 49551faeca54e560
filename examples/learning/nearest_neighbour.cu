// Distances of all places to one, in the manner of Rodinia's nn.
struct Place {
    float latitude, longitude;
};

extern "C" __global__ void nearest_neighbour(const Place *places, float *distances, unsigned count, Place target) {
    unsigned i = (blockIdx.y * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= count) return;
    float north = target.latitude - places[i].latitude, east = target.longitude - places[i].longitude;
    distances[i] = sqrtf(north * north + east * east);
}
