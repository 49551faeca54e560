// Search in a B+ tree, in the manner of Rodinia's b+tree (findK): a CTA per query, whose threads compare the query
// with all keys of a node at once; the thread that stands before it names the child. The tree is implicit: node and
// child follow from the position among the sorted keys, 32 children per node.
constexpr unsigned ORDER = 32;

extern "C" __global__ void tree_search(const int *keys, const int *queries, int *found, unsigned count,
                                       unsigned levels) {
    __shared__ unsigned first;  // of the keys below the current node
    __shared__ unsigned step;
    unsigned child = threadIdx.x;
    if (child == 0) {
        first = 0;
        step = 1;
        for (unsigned level = 1; level < levels; level++) step *= ORDER;
        found[blockIdx.x] = -1;
    }
    __syncthreads();
    int query = queries[blockIdx.x];
    for (unsigned level = 0; level < levels; level++) {
        unsigned left = first + child * step, right = left + step;
        __syncthreads();
        if (left < count && keys[left] <= query && (right >= count || query < keys[right] || child == ORDER - 1)) {
            first = left;
            step /= ORDER;
        }
        __syncthreads();
    }
    if (child == 0 && keys[first] == query) found[blockIdx.x] = first;
}
