/* Graphs changed after they were made: nodes of any kind by one call, edges and nodes taken out, a drawing of a graph. */
#include "graphs.h"

#include <stdio.h>
#include <string.h>

typedef struct { /* cudaGraphNodeParams */
  int kind, reserved[3];
  union {
    long long padding[29];
    kernel_work kernel;
    struct { int flags, reserved[3]; box copy; } copy;
    fill_work fill;
    host_work host;
    graph *child;
    void *event;
    struct { char pool[88]; const void *access; size_t access_count, bytes; void *out; } take;
    void *memory;
  } of;
  long long last;
} parameters;

/* What a node of these parameters does; memory is taken where ``takes``. */
static error_t_ work_of(parameters *p, int takes, work *out) {
  *out = (work){.kind = p->kind};
  switch (p->kind) {
    case N_KERNEL: out->kernel = p->of.kernel; return OK;
    case N_COPY: out->copy = p->of.copy.copy; return OK;
    case N_FILL: out->fill = p->of.fill; return OK;
    case N_HOST: out->host = p->of.host; return OK;
    case N_GRAPH: out->child = p->of.child; return out->child ? OK : INVALID_VALUE;
    case N_EMPTY: return OK;
    case N_WAIT: case N_RECORD: out->event = p->of.event; return OK;
    case N_TAKE: {
      error_t_ error = takes ? take(p->of.take.bytes, 256, OF_GRAPH, &p->of.take.out) : NOT_SUPPORTED;
      out->memory = p->of.take.out;
      return error;
    }
    case N_FREE: out->memory = p->of.memory; return range_at(out->memory) ? OK : INVALID_VALUE;
    default: return lacking("cudaGraphAddNode of an external semaphore, a batch of memory operations or a condition");
  }
}

static error_t_ add(node **out, graph *g, node *const *needs, size_t count, parameters *p) {
  work made;
  if (!out || !p || !are_needs(g, needs, count)) return note(INVALID_VALUE); /* before memory is taken */
  if (p->kind == N_GRAPH && p->of.child == g) return note(INVALID_VALUE);
  error_t_ error = work_of(p, 1, &made);
  return note(error ? error : add_node(g, needs, count, &made, out));
}

error_t_ cudaGraphAddNode_v2(node **out, graph *g, node *const *needs, const void *data, size_t count, parameters *p) {
  return add(out, g, needs, count, p);
}

static error_t_ change(node *n, parameters *p) {
  work made;
  if (!n || !p || n->work.kind != p->kind || (p->kind == N_GRAPH && p->of.child == n->in)) return note(INVALID_VALUE);
  error_t_ error = work_of(p, 0, &made);
  if (p->kind == N_KERNEL) made.cooperative = n->work.cooperative;
  return note(error ? error : set_work(n, &made));
}

error_t_ cudaGraphNodeSetParams(node *n, parameters *p) { return change(n, p); }
error_t_ cudaGraphExecNodeSetParams(graph *g, node *n, parameters *p) {
  if (p && p->kind == N_GRAPH) return cudaGraphExecChildGraphNodeSetParams(g, n, p->of.child);
  return change(copy_in(g, n), p);
}

static error_t_ set_event(node *n, int kind, void *event) {
  if (!n || n->work.kind != kind) return note(INVALID_VALUE);
  n->work.event = event;
  return OK;
}

error_t_ cudaGraphEventRecordNodeSetEvent(node *n, void *event) { return set_event(n, N_RECORD, event); }
error_t_ cudaGraphEventWaitNodeSetEvent(node *n, void *event) { return set_event(n, N_WAIT, event); }
error_t_ cudaGraphExecEventRecordNodeSetEvent(graph *g, node *n, void *event) { return set_event(copy_in(g, n), N_RECORD, event); }
error_t_ cudaGraphExecEventWaitNodeSetEvent(graph *g, node *n, void *event) { return set_event(copy_in(g, n), N_WAIT, event); }

static int drop_need(const node *from, node *to) {
  for (size_t k = 0; k < to->need_count; k++)
    if (to->needs[k] == from) {
      memmove(to->needs + k, to->needs + k + 1, (--to->need_count - k) * sizeof *to->needs);
      return 1;
    }
  return 0;
}

static error_t_ drop_needs(node *const *from, node *const *to, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (!from || !to || !from[i] || !to[i] || !drop_need(from[i], to[i])) return note(INVALID_VALUE);
  return OK;
}

error_t_ cudaGraphDestroyNode(node *n) {
  if (!n) return note(INVALID_VALUE);
  graph *g = n->in;
  memmove(g->nodes + n->at, g->nodes + n->at + 1, (--g->count - n->at) * sizeof *g->nodes);
  for (size_t i = 0; i < g->count; i++) {
    g->nodes[i]->at = i;
    drop_need(n, g->nodes[i]);
  }
  drop_node(n);
  return OK;
}

error_t_ cudaGraphRemoveDependencies_v2(graph *g, node *const *from, node *const *to, const void *data, size_t count) { return drop_needs(from, to, count); }

#if CUDART > 12
ONLY_FORM(cudaGraphAddNode);
ONLY_FORM(cudaGraphRemoveDependencies);
#else
error_t_ cudaGraphAddNode(node **out, graph *g, node *const *needs, size_t count, parameters *p) { return add(out, g, needs, count, p); }
error_t_ cudaGraphRemoveDependencies(graph *g, node *const *from, node *const *to, size_t count) { return drop_needs(from, to, count); }
#endif

/* A file of Graphviz: a node is its kind, a kernel its name. */
error_t_ cudaGraphDebugDotPrint(graph *g, const char *path, unsigned flags) {
  static const char *kinds[] = {"kernel", "copy", "fill", "host", "graph", "empty", "wait", "record", "", "", "take", "free"};
  FILE *file = g && path ? fopen(path, "w") : NULL;
  if (!file) return note(INVALID_VALUE);
  fprintf(file, "digraph {\n");
  for (size_t i = 0; i < g->count; i++) {
    const node *n = g->nodes[i];
    const function *f = n->work.kind == N_KERNEL ? function_at(n->work.kernel.host) : NULL;
    fprintf(file, "  n%zu [label=\"%s\"];\n", i, f ? f->name : kinds[n->work.kind]);
    for (size_t k = 0; k < n->need_count; k++) fprintf(file, "  n%zu -> n%zu;\n", n->needs[k]->at, i);
  }
  fprintf(file, "}\n");
  return fclose(file) ? note(INVALID_VALUE) : OK;
}
