// Assignment step of k-means, in the manner of Rodinia's kmeans: the nearest of k centres for every point, features
// stored one after another for all points. `changed` counts the points that have a new centre.
extern "C" __global__ void kmeans_assign(const float *features, const float *centres, int *membership,
                                         unsigned *changed, unsigned points, unsigned feature_count, unsigned k) {
    unsigned point = blockIdx.x * blockDim.x + threadIdx.x;
    if (point >= points) return;
    int nearest = 0;
    float smallest = 3.402823466e38f;
    for (unsigned centre = 0; centre < k; centre++) {
        float distance = 0.0f;
        for (unsigned f = 0; f < feature_count; f++) {
            float difference = features[f * points + point] - centres[centre * feature_count + f];
            distance += difference * difference;
        }
        if (distance < smallest) {
            smallest = distance;
            nearest = centre;
        }
    }
    if (membership[point] != nearest) atomicAdd(changed, 1u);
    membership[point] = nearest;
}
