/* The calls of the interface that make, change and launch graphs. */
#include "graphs.h"

#include <stdlib.h>
#include <string.h>

enum { UPDATE_ERROR = 1, UPDATE_TOPOLOGY = 2, UPDATE_KIND = 3, UPDATE_FAILED = 910 };

error_t_ cudaGraphCreate(graph **out, unsigned flags) {
  if (!out) return note(INVALID_VALUE);
  *out = calloc(1, sizeof **out);
  return *out ? OK : note(NO_MEMORY);
}

error_t_ cudaGraphDestroy(graph *g) { return drop_graph(g), OK; }
error_t_ cudaGraphExecDestroy(graph *g) { return drop_graph(g), OK; }
error_t_ cudaGraphClone(graph **out, graph *g) { return out && g ? (*out = copy_graph(g), OK) : note(INVALID_VALUE); }

static error_t_ add(node **out, graph *g, node *const *needs, size_t count, work given) {
  return note(!out || !g || (count && !needs) ? INVALID_VALUE : add_node(g, needs, count, &given, out));
}

static error_t_ copy_1d(work *out, void *to, const void *from, size_t bytes) {
  *out = copy_of(to, bytes, from, bytes, bytes, 1);
  return OK;
}

static error_t_ copy_to(work *out, const void *symbol, const void *from, size_t bytes, size_t offset) {
  void *to = NULL;
  error_t_ error = symbol_place(symbol, offset, bytes, &to);
  return error ? error : copy_1d(out, to, from, bytes);
}

static error_t_ copy_from(work *out, void *to, const void *symbol, size_t bytes, size_t offset) {
  void *from = NULL;
  error_t_ error = symbol_place(symbol, offset, bytes, &from);
  return error ? error : copy_1d(out, to, from, bytes);
}

static error_t_ change(node *n, int kind, const work *given) {
  if (!n || n->work.kind != kind) return note(INVALID_VALUE);
  work made = *given;
  made.cooperative = n->work.cooperative; /* an attribute, no parameter */
  return note(set_work(n, &made));
}

/* Kinds of nodes with their parameters: add, and change in a graph and in one that can be launched. */
#define KIND_OF_NODE(name, type, made) \
  error_t_ cudaGraphAdd##name##Node(node **out, graph *g, node *const *needs, size_t count, const type *p) { \
    if (!p) return note(INVALID_VALUE); \
    return add(out, g, needs, count, (work)made); \
  } \
  error_t_ cudaGraph##name##NodeSetParams(node *n, const type *p) { \
    return p ? change(n, ((work)made).kind, &(work)made) : note(INVALID_VALUE); \
  } \
  error_t_ cudaGraphExec##name##NodeSetParams(graph *g, node *n, const type *p) { \
    return p ? change(copy_in(g, n), ((work)made).kind, &(work)made) : note(INVALID_VALUE); \
  }
#define BRACED(...) {__VA_ARGS__}
KIND_OF_NODE(Kernel, kernel_work, BRACED(.kind = N_KERNEL, .kernel = *p))
KIND_OF_NODE(Memcpy, box, BRACED(.kind = N_COPY, .copy = *p))
KIND_OF_NODE(Memset, fill_work, BRACED(.kind = N_FILL, .fill = *p))
KIND_OF_NODE(Host, host_work, BRACED(.kind = N_HOST, .host = *p))

#define COPY_NODE(name, fill, ...) \
  error_t_ cudaGraphAddMemcpyNode##name(node **out, graph *g, node *const *needs, size_t count, __VA_ARGS__, int kind) { \
    work made; \
    error_t_ error = fill; \
    return error ? note(error) : add(out, g, needs, count, made); \
  } \
  error_t_ cudaGraphMemcpyNodeSetParams##name(node *n, __VA_ARGS__, int kind) { \
    work made; \
    error_t_ error = fill; \
    return error ? note(error) : change(n, N_COPY, &made); \
  } \
  error_t_ cudaGraphExecMemcpyNodeSetParams##name(graph *g, node *n, __VA_ARGS__, int kind) { \
    work made; \
    error_t_ error = fill; \
    return error ? note(error) : change(copy_in(g, n), N_COPY, &made); \
  }
COPY_NODE(1D, copy_1d(&made, to, from, bytes), void *to, const void *from, size_t bytes)
COPY_NODE(ToSymbol, copy_to(&made, symbol, from, bytes, offset), const void *symbol, const void *from, size_t bytes, size_t offset)
COPY_NODE(FromSymbol, copy_from(&made, to, symbol, bytes, offset), void *to, const void *symbol, size_t bytes, size_t offset)

#define PART_OF_NODE(name, type, of, part) \
  error_t_ cudaGraph##name(node *n, type *out) { \
    return n && out && n->work.kind == of ? (*out = n->work.part, OK) : note(INVALID_VALUE); \
  }
PART_OF_NODE(KernelNodeGetParams, kernel_work, N_KERNEL, kernel)
PART_OF_NODE(MemcpyNodeGetParams, box, N_COPY, copy)
PART_OF_NODE(MemsetNodeGetParams, fill_work, N_FILL, fill)
PART_OF_NODE(HostNodeGetParams, host_work, N_HOST, host)
PART_OF_NODE(ChildGraphNodeGetGraph, graph *, N_GRAPH, child)
PART_OF_NODE(EventRecordNodeGetEvent, void *, N_RECORD, event)
PART_OF_NODE(EventWaitNodeGetEvent, void *, N_WAIT, event)
PART_OF_NODE(MemFreeNodeGetParams, void *, N_FREE, memory)

error_t_ cudaGraphAddChildGraphNode(node **out, graph *g, node *const *needs, size_t count, graph *child) {
  return child && child != g ? add(out, g, needs, count, (work){.kind = N_GRAPH, .child = child}) : note(INVALID_VALUE);
}

error_t_ cudaGraphAddEmptyNode(node **out, graph *g, node *const *needs, size_t count) {
  return add(out, g, needs, count, (work){.kind = N_EMPTY});
}

error_t_ cudaGraphAddEventRecordNode(node **out, graph *g, node *const *needs, size_t count, void *event) {
  return add(out, g, needs, count, (work){.kind = N_RECORD, .event = event});
}

error_t_ cudaGraphAddEventWaitNode(node **out, graph *g, node *const *needs, size_t count, void *event) {
  return add(out, g, needs, count, (work){.kind = N_WAIT, .event = event});
}

typedef struct { char pool[88]; const void *access; size_t access_count, bytes; void *out; } allocation;

/* Memory of a graph is taken when the node is made, and stays: a free does nothing, the next launch has it again. */
error_t_ cudaGraphAddMemAllocNode(node **out, graph *g, node *const *needs, size_t count, allocation *given) {
  if (!given || !out || !are_needs(g, needs, count)) return note(INVALID_VALUE); /* before memory is taken */
  error_t_ error = take(given->bytes, 256, OF_GRAPH, &given->out);
  return error ? note(error) : add(out, g, needs, count, (work){.kind = N_TAKE, .memory = given->out});
}

error_t_ cudaGraphAddMemFreeNode(node **out, graph *g, node *const *needs, size_t count, void *memory) {
  return range_at(memory) ? add(out, g, needs, count, (work){.kind = N_FREE, .memory = memory}) : note(INVALID_VALUE);
}

error_t_ cudaDeviceGraphMemTrim(int device) { return OK; }
error_t_ cudaDeviceSetGraphMemAttribute(int device, int what, void *value) { return OK; }
error_t_ cudaDeviceGetGraphMemAttribute(int device, int what, void *value) { return *(word *)value = graph_memory(), OK; }

static error_t_ add_needs(node *const *from, node *const *to, size_t count) {
  error_t_ error = count && (!from || !to) ? INVALID_VALUE : OK;
  for (size_t i = 0; i < count && !error; i++) error = add_need(from[i], to[i]);
  return note(error);
}

error_t_ cudaGraphAddDependencies_v2(graph *g, node *const *from, node *const *to, const void *data, size_t count) { return add_needs(from, to, count); }
#if CUDART > 12
ONLY_FORM(cudaGraphAddDependencies);
#else
error_t_ cudaGraphAddDependencies(graph *g, node *const *from, node *const *to, size_t count) { return add_needs(from, to, count); }
#endif

error_t_ cudaGraphNodeGetType(node *n, int *out) { return *out = n->work.kind, OK; }

error_t_ cudaGraphNodeFindInClone(node **out, node *origin, graph *clone) {
  *out = copy_in(clone, origin);
  return *out ? OK : note(INVALID_VALUE);
}

static const unsigned char attribute_bytes[] = { /* by cudaKernelNodeAttrID */
  [1] = 32, [IS_COOPERATIVE] = 4, [CLUSTER] = 12, [5] = 4, [8] = 4, [9] = 2, [10] = 4, [11] = 12, [13] = 16, [14] = 4, [16] = 4};

static int has_attribute(const node *n, int what, const void *value) {
  return n && value && n->work.kind == N_KERNEL && what >= 0 && what < (int)sizeof attribute_bytes && attribute_bytes[what];
}

error_t_ cudaGraphKernelNodeSetAttribute(node *n, int what, const int *value) {
  if (!has_attribute(n, what, value)) return note(INVALID_VALUE);
  if (what == CLUSTER && is_cluster((const unsigned *)value))
    return lacking("cudaGraphKernelNodeSetAttribute with clusters of more than one CTA");
  if (what == IS_COOPERATIVE) n->work.cooperative = *value;
  return OK;
}

error_t_ cudaGraphKernelNodeGetAttribute(node *n, int what, int *value) {
  if (!has_attribute(n, what, value)) return note(INVALID_VALUE);
  memset(value, 0, attribute_bytes[what]);
  if (what == IS_COOPERATIVE) *value = n->work.cooperative;
  return OK;
}

error_t_ cudaGraphKernelNodeCopyAttributes(node *to, node *from) {
  if (!has_attribute(to, IS_COOPERATIVE, from) || !has_attribute(from, IS_COOPERATIVE, to)) return note(INVALID_VALUE);
  return to->work.cooperative = from->work.cooperative, OK;
}

error_t_ cudaGraphInstantiateWithFlags(graph **out, graph *g, unsigned long long flags) {
  if (!out || !g || !is_ordered(g)) return note(INVALID_VALUE);
  *out = copy_graph(g);
  return OK;
}

#if CUDART > 11
error_t_ cudaGraphInstantiate(graph **out, graph *g, unsigned long long flags) { return cudaGraphInstantiateWithFlags(out, g, flags); }
error_t_ cudaGraphInstantiate_v12000(graph **out, graph *g, unsigned long long flags) { return cudaGraphInstantiateWithFlags(out, g, flags); }
#else
error_t_ cudaGraphInstantiate(graph **out, graph *g, node **at, char *log, size_t bytes) { return cudaGraphInstantiateWithFlags(out, g, 0); }
#endif

typedef struct { unsigned long long flags; stream *upload; node *at; int result; } instantiation;
error_t_ cudaGraphInstantiateWithParams(graph **out, graph *g, instantiation *given) {
  given->result = 0;
  return cudaGraphInstantiateWithFlags(out, g, given->flags);
}

error_t_ cudaGraphExecGetFlags(graph *g, unsigned long long *flags) { return *flags = 0, OK; }
error_t_ cudaGraphUpload(graph *g, stream *on) { return OK; }

error_t_ cudaGraphNodeSetEnabled(graph *g, node *n, unsigned enabled) {
  node *found = copy_in(g, n);
  if (!found) return note(INVALID_VALUE);
  found->disabled = !enabled;
  return OK;
}

error_t_ cudaGraphNodeGetEnabled(graph *g, node *n, unsigned *enabled) {
  node *found = copy_in(g, n);
  if (!found) return note(INVALID_VALUE);
  *enabled = !found->disabled;
  return OK;
}

/* 0 where the work of ``from`` can take the place of that of ``to``, node by node; else why not, and where. */
static int differ(const graph *to, const graph *from, node **at) {
  if (to->count != from->count) return UPDATE_TOPOLOGY;
  for (size_t i = 0; i < to->count; i++) {
    const node *a = to->nodes[i], *b = from->nodes[i];
    *at = from->nodes[i];
    if (a->need_count != b->need_count) return UPDATE_TOPOLOGY;
    for (size_t k = 0; k < a->need_count; k++)
      if (a->needs[k]->at != b->needs[k]->at) return UPDATE_TOPOLOGY;
    if (a->work.kind != b->work.kind) return UPDATE_KIND;
    int inner = a->work.kind == N_GRAPH ? differ(a->work.child, b->work.child, at) : 0;
    if (inner) return inner;
  }
  *at = NULL;
  return 0;
}

/* Nodes stay, those of child graphs too: the caller may have handles of the nodes that they were copied from. */
static error_t_ take_work(graph *to, const graph *from) {
  error_t_ error = OK;
  for (size_t i = 0; i < to->count && !error; i++) {
    const work *given = &from->nodes[i]->work;
    error = given->kind == N_GRAPH ? take_work(to->nodes[i]->work.child, given->child) : set_work(to->nodes[i], given);
  }
  return error;
}

static error_t_ update(graph *to, graph *from, node **at, int *result) {
  if (!to || !from) return note(INVALID_VALUE);
  *result = differ(to, from, at);
  if (!*result && take_work(to, from)) *result = UPDATE_ERROR;
  return note(*result ? UPDATE_FAILED : OK);
}

error_t_ cudaGraphExecChildGraphNodeSetParams(graph *g, node *n, graph *child) {
  node *found = copy_in(g, n), *at;
  int result;
  if (!found || found->work.kind != N_GRAPH || !child) return note(INVALID_VALUE);
  return update(found->work.child, child, &at, &result) ? note(INVALID_VALUE) : OK;
}

#if CUDART > 11
typedef struct { int result; node *at, *from; } update_result;
error_t_ cudaGraphExecUpdate(graph *to, graph *from, update_result *out) {
  if (!out) return note(INVALID_VALUE);
  *out = (update_result){0, NULL, NULL};
  return update(to, from, &out->at, &out->result);
}
#else
error_t_ cudaGraphExecUpdate(graph *to, graph *from, node **at, int *result) { return update(to, from, at, result); }
#endif

error_t_ cudaGraphLaunch(graph *g, stream *on) {
  if (!g) return note(INVALID_VALUE);
  return note(is_capturing(on) ? capture(on, &(work){.kind = N_GRAPH, .child = g}) : run_graph(g, on));
}

PER_THREAD(cudaGraphLaunch);
PER_THREAD(cudaGraphUpload);
PER_THREAD(cudaGraphInstantiateWithParams);
