// Cost of opening a new cluster centre, in the manner of Rodinia's streamcluster: a point that is nearer to the new
// centre than to its own would move there; the gain is summed per centre that it would leave.
extern "C" __global__ void compute_cost(const float *coordinates, const float *weights, const int *assigned,
                                        const float *costs, float *lower, unsigned char *switches, unsigned points,
                                        unsigned dimensions, unsigned candidate, unsigned centres) {
    unsigned point = blockIdx.x * blockDim.x + threadIdx.x;
    if (point >= points) return;
    float distance = 0.0f;
    for (unsigned d = 0; d < dimensions; d++) {
        float difference = coordinates[d * points + point] - coordinates[d * points + candidate];
        distance += difference * difference;
    }
    distance *= weights[point];
    if (distance < costs[point]) {
        switches[point] = 1;
        lower[point * (centres + 1) + centres] = distance - costs[point];
    } else {
        lower[point * (centres + 1) + assigned[point]] += costs[point] - distance;
    }
}
