// Breadth-first search in the manner of Rodinia's bfs: one thread per vertex and two kernels per level, the host looks
// at `more` after each level. Distances of vertices that are not reached stay -1.
extern "C" __global__ void visit(const unsigned *offsets, const unsigned *neighbours, unsigned char *frontier,
                                 unsigned char *updating, const unsigned char *visited, int *distance,
                                 unsigned count) {
    unsigned vertex = blockIdx.x * blockDim.x + threadIdx.x;
    if (vertex >= count || !frontier[vertex]) return;
    frontier[vertex] = 0;
    for (unsigned edge = offsets[vertex]; edge < offsets[vertex + 1]; edge++) {
        unsigned other = neighbours[edge];
        if (!visited[other]) {
            distance[other] = distance[vertex] + 1;
            updating[other] = 1;
        }
    }
}

extern "C" __global__ void update(unsigned char *frontier, unsigned char *updating, unsigned char *visited,
                                  unsigned *more, unsigned count) {
    unsigned vertex = blockIdx.x * blockDim.x + threadIdx.x;
    if (vertex >= count || !updating[vertex]) return;
    frontier[vertex] = 1;
    visited[vertex] = 1;
    updating[vertex] = 0;
    *more = 1;
}

extern "C" __global__ void start(unsigned char *frontier, unsigned char *visited, int *distance, unsigned count,
                                 unsigned source) {
    unsigned vertex = blockIdx.x * blockDim.x + threadIdx.x;
    if (vertex >= count) return;
    frontier[vertex] = visited[vertex] = vertex == source;
    distance[vertex] = vertex == source ? 0 : -1;
}

extern "C" __global__ void clear(unsigned *more) { *more = 0; }
