/* Graphs: nodes and what each does when it runs. A graph that can be launched is a copy of one (nodes.c). */
#ifndef RAYPLAY_GRAPHS_H
#define RAYPLAY_GRAPHS_H

#include "shim.h"

enum { /* cudaGraphNodeType */
  N_KERNEL, N_COPY, N_FILL, N_HOST, N_GRAPH, N_EMPTY, N_WAIT, N_RECORD, N_TAKE = 10, N_FREE
};

typedef struct { const void *host; dim3 grid, block; unsigned shared; void **arguments, **extra; } kernel_work;
typedef struct { array *from_array; position from_at; pitched from; array *to_array; position to_at; pitched to;
                 extent size; int kind; } box;
typedef struct { void *to; size_t pitch; unsigned value, size; size_t width, height; } fill_work;
typedef struct { void (*call)(void *); void *data; } host_work;

typedef struct graph graph;
typedef struct node node;

typedef struct { /* what a node does */
  int kind, cooperative;
  union { kernel_work kernel; box copy; fill_work fill; host_work host; graph *child; void *event; void *memory; };
} work;

struct node {
  work work;
  graph *in;
  const node *origin; /* of a copy: the node of the graph that was copied */
  node **needs;       /* nodes that run before */
  size_t need_count, at;
  unsigned disabled;
};

struct graph { node **nodes; size_t count; };

/* nodes.c */
error_t_ add_node(graph *to, node *const *needs, size_t count, const work *work, node **out);
error_t_ set_work(node *n, const work *work);
void drop_node(node *n);
node *copy_in(const graph *copy, const node *origin);
graph *copy_graph(const graph *from);
void drop_graph(graph *g);
error_t_ run_graph(const graph *g, stream *on);
int is_ordered(const graph *g);
error_t_ add_need(node *from, node *to);
int are_needs(const graph *of, node *const *needs, size_t count);

/* graph_calls.c */
error_t_ cudaGraphExecChildGraphNodeSetParams(graph *g, node *n, graph *child);

/* capture.c */
int is_capturing(const stream *on);
error_t_ capture(stream *on, const work *work);
void leave_capture(stream *on);
void capture_event(const stream *on, void **captured, node ***nodes, size_t *count);
error_t_ capture_wait(stream *on, void *captured, node *const *nodes, size_t count);

/* launch.c, memory.c, arrays.c, streams.c */
error_t_ launch(const void *host, dim3 grid, dim3 block, void **arguments, size_t shared, stream *on, int cooperative);
error_t_ symbol_place(const void *symbol, size_t offset, size_t bytes, void **out);
error_t_ cudaMemcpy3D(const box *given);
error_t_ record_event(void *event, stream *on);

static inline work copy_of(void *to, size_t to_row, const void *from, size_t from_row, size_t width, size_t height) {
  work made = {.kind = N_COPY};
  made.copy.to = (pitched){to, to_row, width, height};
  made.copy.from = (pitched){(void *)from, from_row, width, height};
  made.copy.size = (extent){width, height, 1};
  return made;
}
#endif
