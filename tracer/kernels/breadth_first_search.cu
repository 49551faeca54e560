// Level-synchronous breadth-first search of a directed graph in compressed sparse rows: the edges of vertex v lead to
// neighbours[offsets[v]] to neighbours[offsets[v + 1] - 1]. begin once, then expand and advance for level 1, 2, ... as
// long as frontier_size is not 0. distance[v] is the level of v at the end, -1 where the source does not lead.
// One thread per vertex; blockDim.x must be a multiple of 32.
constexpr unsigned EVERY_LANE = 0xffffffffu;

static __device__ unsigned thread_index() { return blockIdx.x * blockDim.x + threadIdx.x; }

extern "C" __global__ void begin(unsigned vertices, unsigned source, int *distance, unsigned char *in_frontier,
                                 unsigned char *reached) {
    unsigned v = thread_index();
    if (v >= vertices) return;
    distance[v] = v == source ? 0 : -1;
    in_frontier[v] = v == source;
    reached[v] = 0;
}

extern "C" __global__ void expand(unsigned vertices, const unsigned *offsets, const unsigned *neighbours,
                                  const int *distance, unsigned char *in_frontier, unsigned char *reached,
                                  unsigned *frontier_size) {
    unsigned v = thread_index();
    if (v == 0) *frontier_size = 0;
    if (v >= vertices || !in_frontier[v]) return;
    in_frontier[v] = 0;
    for (unsigned edge = offsets[v]; edge < offsets[v + 1]; ++edge) {
        unsigned neighbour = neighbours[edge];
        if (distance[neighbour] < 0) reached[neighbour] = 1;  // many threads may write the same 1
    }
}

extern "C" __global__ void advance(unsigned vertices, int level, int *distance, unsigned char *in_frontier,
                                   unsigned char *reached, unsigned *frontier_size) {
    unsigned v = thread_index();
    bool joins = v < vertices && reached[v];
    if (joins) {
        reached[v] = 0;
        in_frontier[v] = 1;
        distance[v] = level;
    }
    unsigned joining = __ballot_sync(EVERY_LANE, joins);
    if (threadIdx.x % 32 == 0 && joining) atomicAdd(frontier_size, __popc(joining));
}
