// Each CTA sorts 512 keys in shared memory by a bitonic network.
constexpr unsigned KEYS = 512;

extern "C" __global__ void bitonic_sort(unsigned *keys) {
    __shared__ unsigned own[KEYS];
    unsigned i = threadIdx.x;
    own[i] = keys[blockIdx.x * KEYS + i];
    __syncthreads();
    for (unsigned size = 2; size <= KEYS; size *= 2) {
        for (unsigned distance = size / 2; distance > 0; distance /= 2) {
            unsigned other = i ^ distance;
            if (other > i) {
                bool ascending = (i & size) == 0;
                unsigned low = own[i], high = own[other];
                if ((low > high) == ascending) {
                    own[i] = high;
                    own[other] = low;
                }
            }
            __syncthreads();
        }
    }
    keys[blockIdx.x * KEYS + i] = own[i];
}
