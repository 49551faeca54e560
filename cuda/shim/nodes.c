/* Nodes of graphs: made, copied, put in order, run. The kernels of a graph run in the stream of its launch. */
#include "graphs.h"

#include <stdlib.h>
#include <string.h>

static void *more(void *from, size_t bytes) {
  void *made = realloc(from, bytes ? bytes : 1);
  if (!made) end("no memory");
  return made;
}

/* The arguments of a kernel, kept: pointers, and behind them the bytes. */
static error_t_ keep_arguments(kernel_work *kernel) {
  function *f;
  error_t_ error = resolved(kernel->host, &f);
  if (error) return error;
  if (kernel->extra) return lacking("a kernel node with its parameters in one buffer");
  if (f->count && !kernel->arguments) return INVALID_VALUE;
  size_t bytes = f->count * sizeof(void *);
  for (unsigned i = 0; i < f->count; i++) bytes += (f->sizes[i] + 15) / 16 * 16;
  void **made = more(NULL, bytes);
  char *at = (char *)(made + f->count);
  for (unsigned i = 0; i < f->count; i++) {
    made[i] = memcpy(at, kernel->arguments[i], f->sizes[i]);
    at += (f->sizes[i] + 15) / 16 * 16;
  }
  kernel->arguments = made;
  return OK;
}

static void drop_work(work *w) {
  if (w->kind == N_KERNEL) free(w->kernel.arguments);
  if (w->kind == N_GRAPH) drop_graph(w->child);
}

error_t_ set_work(node *n, const work *given) {
  work made = *given;
  error_t_ error = made.kind == N_KERNEL ? keep_arguments(&made.kernel) : OK;
  if (error) return error;
  if (made.kind == N_GRAPH) made.child = copy_graph(made.child);
  drop_work(&n->work);
  n->work = made;
  return OK;
}

static void append_need(node *from, node *to) {
  to->needs = more(to->needs, (to->need_count + 1) * sizeof *to->needs);
  to->needs[to->need_count++] = from;
}

/* An edge is in a graph once: cudaGraphDestroyNode takes one out. */
error_t_ add_need(node *from, node *to) {
  if (!from || !to || from->in != to->in || from == to) return INVALID_VALUE;
  for (size_t k = 0; k < to->need_count; k++)
    if (to->needs[k] == from) return INVALID_VALUE;
  append_need(from, to);
  return OK;
}

/* Whether a new node may need these: nodes of the graph, each once. */
int are_needs(const graph *of, node *const *needs, size_t count) {
  if (!of || (count && !needs)) return 0;
  for (size_t i = 0; i < count; i++) {
    if (!needs[i] || needs[i]->in != of) return 0;
    for (size_t k = 0; k < i; k++)
      if (needs[k] == needs[i]) return 0;
  }
  return 1;
}

error_t_ add_node(graph *to, node *const *needs, size_t count, const work *given, node **out) {
  if (!are_needs(to, needs, count)) return INVALID_VALUE;
  node *made = calloc(1, sizeof *made);
  if (!made) end("no memory");
  *made = (node){.work = {.kind = N_EMPTY}, .in = to, .at = to->count};
  error_t_ error = set_work(made, given);
  if (error) {
    free(made);
    return error;
  }
  to->nodes = more(to->nodes, (to->count + 1) * sizeof *to->nodes);
  to->nodes[to->count++] = made;
  for (size_t i = 0; i < count; i++) append_need(needs[i], made);
  *out = made;
  return OK;
}

graph *copy_graph(const graph *from) {
  graph *made = calloc(1, sizeof *made);
  if (!made) end("no memory");
  for (size_t i = 0; i < from->count; i++) {
    node *n;
    if (add_node(made, NULL, 0, &from->nodes[i]->work, &n)) end("a node of a graph cannot be copied");
    n->origin = from->nodes[i];
    n->disabled = from->nodes[i]->disabled;
  }
  for (size_t i = 0; i < from->count; i++)
    for (size_t k = 0; k < from->nodes[i]->need_count; k++)
      append_need(made->nodes[from->nodes[i]->needs[k]->at], made->nodes[i]);
  return made;
}

node *copy_in(const graph *copy, const node *origin) {
  for (size_t i = 0; copy && i < copy->count; i++) {
    node *n = copy->nodes[i], *inner = NULL;
    if (n->origin == origin) return n;
    if (n->work.kind == N_GRAPH) inner = copy_in(n->work.child, origin);
    if (inner) return inner;
  }
  return NULL;
}

void drop_node(node *n) {
  drop_work(&n->work);
  free(n->needs);
  free(n);
}

void drop_graph(graph *g) {
  for (size_t i = 0; g && i < g->count; i++) drop_node(g->nodes[i]);
  if (g) free(g->nodes);
  free(g);
}

static error_t_ fill(const fill_work *f) {
  size_t row = f->width * f->size, pitch = f->height > 1 ? f->pitch : row;
  if (!row || !f->height) return OK;
  if ((f->size != 1 && f->size != 2 && f->size != 4) || pitch < row) return INVALID_VALUE;
  if (!range_at(f->to) || !is_valid(f->to, pitch * (f->height - 1) + row)) return INVALID_VALUE;
  for (size_t y = 0; y < f->height; y++)
    for (size_t x = 0; x < f->width; x++) memcpy((char *)f->to + y * pitch + x * f->size, &f->value, f->size);
  return OK;
}

static error_t_ run_node(const node *n, stream *on) {
  const work *w = &n->work;
  switch (n->disabled ? N_EMPTY : w->kind) {
    case N_KERNEL:
      return launch(w->kernel.host, w->kernel.grid, w->kernel.block, w->kernel.arguments, w->kernel.shared, on, w->cooperative);
    case N_COPY: return cudaMemcpy3D(&w->copy);
    case N_FILL: return fill(&w->fill);
    case N_HOST: w->host.call(w->host.data); return OK;
    case N_GRAPH: return run_graph(w->child, on);
    case N_RECORD: return record_event(w->event, on);
    default: return OK;
  }
}

/* Each node after the nodes that it needs, else in the order in which they were added; INVALID_VALUE for a circle. */
static error_t_ visit(const graph *g, error_t_ (*each)(const node *, stream *), stream *on) {
  char *done = calloc(g->count + 1, 1);
  if (!done) end("no memory");
  error_t_ error = OK;
  size_t left = g->count, before;
  do {
    before = left;
    for (size_t i = 0; i < g->count && !error; i++) {
      const node *n = g->nodes[i];
      int ready = !done[i];
      for (size_t k = 0; ready && k < n->need_count; k++) ready = done[n->needs[k]->at];
      if (!ready) continue;
      if (each) error = each(n, on);
      done[i] = 1;
      left--;
    }
  } while (left && left < before && !error);
  free(done);
  return error ? error : left ? INVALID_VALUE : OK;
}

error_t_ run_graph(const graph *g, stream *on) { return visit(g, run_node, on); }
int is_ordered(const graph *g) { return visit(g, NULL, NULL) == OK; }
