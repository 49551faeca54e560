/* Nodes and edges of graphs, listed for a caller. */
#include "graphs.h"

#include <string.h>

typedef struct { unsigned char bytes[8]; } edge_data; /* cudaGraphEdgeData: here always the usual one, of zeros */

typedef struct { node **first, **second; edge_data *data; size_t *room, found; } list;

static void put(list *to, node *first, node *second) {
  if (to->first && to->found < *to->room) {
    to->first[to->found] = first;
    if (to->second) to->second[to->found] = second;
    if (to->data) to->data[to->found] = (edge_data){{0}};
  }
  to->found++;
}

/* The room becomes how many were written, or how many there are where nothing is; what is left of it is NULL. */
static error_t_ finish(list *to) {
  size_t written = to->first && to->found > *to->room ? *to->room : to->found;
  for (size_t i = written; to->first && i < *to->room; i++) {
    to->first[i] = NULL;
    if (to->second) to->second[i] = NULL;
  }
  *to->room = written;
  return OK;
}

error_t_ cudaGraphGetNodes(graph *g, node **out, size_t *count) {
  if (!g || !count) return note(INVALID_VALUE);
  list found = {out, NULL, NULL, count, 0};
  for (size_t i = 0; i < g->count; i++) put(&found, g->nodes[i], NULL);
  return finish(&found);
}

error_t_ cudaGraphGetRootNodes(graph *g, node **out, size_t *count) {
  if (!g || !count) return note(INVALID_VALUE);
  list found = {out, NULL, NULL, count, 0};
  for (size_t i = 0; i < g->count; i++)
    if (!g->nodes[i]->need_count) put(&found, g->nodes[i], NULL);
  return finish(&found);
}

error_t_ cudaGraphGetEdges_v2(graph *g, node **from, node **to, edge_data *data, size_t *count) {
  if (!g || !count || !from != !to || (data && !from)) return note(INVALID_VALUE);
  list found = {from, to, data, count, 0};
  for (size_t i = 0; i < g->count; i++)
    for (size_t k = 0; k < g->nodes[i]->need_count; k++) put(&found, g->nodes[i]->needs[k], g->nodes[i]);
  return finish(&found);
}

error_t_ cudaGraphNodeGetDependencies_v2(node *n, node **out, edge_data *data, size_t *count) {
  if (!n || !count || (data && !out)) return note(INVALID_VALUE);
  list found = {out, NULL, data, count, 0};
  for (size_t k = 0; k < n->need_count; k++) put(&found, n->needs[k], NULL);
  return finish(&found);
}

error_t_ cudaGraphNodeGetDependentNodes_v2(node *n, node **out, edge_data *data, size_t *count) {
  if (!n || !count || (data && !out)) return note(INVALID_VALUE);
  list found = {out, NULL, data, count, 0};
  for (size_t i = 0; i < n->in->count; i++)
    for (size_t k = 0; k < n->in->nodes[i]->need_count; k++)
      if (n->in->nodes[i]->needs[k] == n) put(&found, n->in->nodes[i], NULL);
  return finish(&found);
}

#if CUDART > 12
ONLY_FORM(cudaGraphGetEdges);
ONLY_FORM(cudaGraphNodeGetDependencies);
ONLY_FORM(cudaGraphNodeGetDependentNodes);
#else
error_t_ cudaGraphGetEdges(graph *g, node **from, node **to, size_t *count) { return cudaGraphGetEdges_v2(g, from, to, NULL, count); }
error_t_ cudaGraphNodeGetDependencies(node *n, node **out, size_t *count) { return cudaGraphNodeGetDependencies_v2(n, out, NULL, count); }
error_t_ cudaGraphNodeGetDependentNodes(node *n, node **out, size_t *count) { return cudaGraphNodeGetDependentNodes_v2(n, out, NULL, count); }
#endif
