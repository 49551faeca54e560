/* The device: one, with the figures of the chosen GPU. */
#include "shim.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static word *figures;
static const char *name;

/* C_COUNT figures, and the name of the GPU behind them. */
const word *card(void) {
  lock();
  if (!figures) {
    ask(ASK_CARD, NULL, 0, (void **)&figures, NULL);
    name = (const char *)(figures + C_COUNT);
  }
  unlock();
  return figures;
}

typedef struct { /* cudaDeviceProp; CUDART < 13 has the clocks and a few more */
  char name[256], uuid[16], luid[8];
  unsigned node_mask;
  size_t memory, shared;
  int registers, warp;
  size_t pitch;
  int threads, block[3], grid[3];
#if CUDART < 13
  int clock_khz;
#endif
  size_t constant;
  int major, minor;
  size_t texture_align, texture_pitch_align;
#if CUDART < 13
  int overlap;
#endif
  int sms;
#if CUDART < 13
  int timeout;
#endif
  int integrated, maps_host;
#if CUDART < 13
  int compute_mode;
#endif
  int texture_1d, texture_1d_mipmap;
#if CUDART < 13
  int texture_1d_linear;
#endif
  int texture_2d[2], texture_2d_mipmap[2], texture_2d_linear[3], texture_2d_gather[2], texture_3d[3], texture_3d_alt[3],
      texture_cube, texture_1d_layered[2], texture_2d_layered[3], texture_cube_layered[2], surface_1d, surface_2d[2],
      surface_3d[3], surface_1d_layered[2], surface_2d_layered[3], surface_cube, surface_cube_layered[2];
  size_t surface_align;
  int concurrent, ecc, pci_bus, pci_device, pci_domain, tcc, engines, unified;
#if CUDART < 13
  int memory_khz;
#endif
  int bus_bits, l2_bytes, persisting_l2, threads_per_sm, priorities, global_l1, local_l1;
  size_t shared_per_sm;
  int registers_per_sm, managed, multi_board, board_group, host_atomics;
#if CUDART < 13
  int double_ratio;
#endif
  int pageable, concurrent_managed, preemption, registered_pointer, cooperative;
#if CUDART < 13
  int cooperative_multi;
#endif
  size_t shared_optin;
  int pageable_tables, managed_from_host, ctas_per_sm, window;
  size_t reserved_shared;
#if CUDART > 11
  int register_supported, sparse, read_only, timeline, pools, rdma;
  unsigned rdma_flush;
  int rdma_order;
  unsigned pool_handles;
  int deferred, ipc_event, clusters, unified_pointers;
#endif
} properties;

#if CUDART > 12
#define PROPERTIES_BYTES (offsetof(properties, unified_pointers) + 4 + 7 * 4 + 56 * 4)
#elif CUDART > 11
#define PROPERTIES_BYTES 1032
#else
#define PROPERTIES_BYTES sizeof(properties)
#endif

error_t_ cudaGetDeviceProperties(properties *out, int device) {
  if (!out || device) return note(out ? INVALID_DEVICE : INVALID_VALUE);
  const word *has = card();
  memset(out, 0, PROPERTIES_BYTES);
  strncpy(out->name, name, sizeof out->name - 1);
  out->memory = has[C_MEMORY_BYTES];
  out->shared = 49152;
  out->registers = out->registers_per_sm = has[C_REGISTERS];
  out->warp = 32;
  out->pitch = INT_MAX;
  out->threads = 1024;
  memcpy(out->block, (int[]){1024, 1024, 64}, sizeof out->block);
  memcpy(out->grid, (int[]){INT_MAX, 65535, 65535}, sizeof out->grid);
  out->constant = has[C_CONSTANT];
  out->major = has[C_MAJOR];
  out->minor = has[C_MINOR];
  out->texture_align = 512;
  out->texture_pitch_align = 32;
  out->surface_align = 512;
  out->sms = has[C_SMS];
  out->maps_host = out->concurrent = out->unified = out->managed = out->concurrent_managed = out->cooperative = 1;
  out->priorities = out->global_l1 = out->local_l1 = 1;
  out->engines = 2;
  out->texture_1d = out->texture_cube = out->surface_1d = out->surface_cube = 32768;
  out->texture_2d[0] = out->texture_2d[1] = out->surface_2d[0] = out->surface_2d[1] = 32768;
  memcpy(out->texture_3d, (int[]){16384, 16384, 16384}, sizeof out->texture_3d);
  memcpy(out->texture_2d_layered, (int[]){32768, 32768, 2048}, sizeof out->texture_2d_layered);
  out->bus_bits = has[C_BUS_BITS];
  out->l2_bytes = has[C_L2_BYTES];
  out->threads_per_sm = 32 * has[C_WARPS];
  out->ctas_per_sm = has[C_CTAS];
  out->shared_per_sm = out->shared_optin = has[C_SHARED];
#if CUDART < 13
  out->clock_khz = has[C_CLOCK_KHZ];
  out->memory_khz = has[C_MEMORY_KHZ];
  out->overlap = 1;
  out->double_ratio = 32;
#endif
#if CUDART > 11
  out->register_supported = out->pools = 1;
#endif
  return OK;
}

error_t_ cudaGetDeviceProperties_v2(properties *out, int device) { return cudaGetDeviceProperties(out, device); }

error_t_ cudaDeviceGetAttribute(int *out, int what, int device) {
  if (!out || device) return note(out ? INVALID_DEVICE : INVALID_VALUE);
  const word *has = card();
  switch (what) { /* cudaDeviceAttr */
    case 1: case 2: case 3: *out = 1024; break;
    case 4: *out = 64; break;
    case 5: case 11: *out = INT_MAX; break;
    case 6: case 7: *out = 65535; break;
    case 8: *out = 49152; break;
    case 9: *out = has[C_CONSTANT]; break;
    case 10: *out = 32; break;
    case 12: case 82: *out = has[C_REGISTERS]; break;
    case 13: *out = has[C_CLOCK_KHZ]; break;
    case 14: *out = 512; break;
    case 16: *out = has[C_SMS]; break;
    case 15: case 19: case 31: case 41: case 78: case 79: case 80: case 83: case 89: case 95: case 99: case 115: *out = 1; break;
    case 36: *out = has[C_MEMORY_KHZ]; break;
    case 37: *out = has[C_BUS_BITS]; break;
    case 38: *out = has[C_L2_BYTES]; break;
    case 39: *out = 32 * has[C_WARPS]; break;
    case 40: *out = 2; break;
    case 51: *out = 32; break;
    case 75: *out = has[C_MAJOR]; break;
    case 76: *out = has[C_MINOR]; break;
    case 81: case 97: *out = has[C_SHARED]; break;
    case 87: *out = 32; break;
    case 106: *out = has[C_CTAS]; break;
    default: *out = 0;
  }
  return what < 1 ? note(INVALID_VALUE) : OK;
}

static error_t_ number(int *out, int value) {
  if (!out) return note(INVALID_VALUE);
  *out = value;
  return OK;
}

error_t_ cudaGetDeviceCount(int *out) { return number(out, 1); }
error_t_ cudaGetDevice(int *out) { return number(out, 0); }
error_t_ cudaSetDevice(int device) { return device ? note(INVALID_DEVICE) : OK; }
error_t_ cudaInitDevice(int device, unsigned flags, unsigned given) { return cudaSetDevice(device); }
error_t_ cudaChooseDevice(int *out, const void *wanted) { return number(out, 0); }
error_t_ cudaSetValidDevices(int *devices, int count) { return OK; }
error_t_ cudaSetDeviceFlags(unsigned flags) { return OK; }
error_t_ cudaGetDeviceFlags(unsigned *flags) { return number((int *)flags, 8); } /* memory of the host is mapped */
error_t_ cudaDeviceSynchronize(void) { return settle(); }
error_t_ cudaThreadSynchronize(void) { return settle(); }
error_t_ cudaDeviceReset(void) { return OK; }
error_t_ cudaThreadExit(void) { return OK; }
/* One device has no peer. */
error_t_ cudaDeviceCanAccessPeer(int *out, int device, int peer) { return device || peer ? note(INVALID_DEVICE) : number(out, 0); }
error_t_ cudaDeviceGetP2PAttribute(int *out, int what, int device, int peer) { return note(INVALID_DEVICE); }
error_t_ cudaDeviceEnablePeerAccess(int peer, unsigned flags) { return note(INVALID_DEVICE); }
error_t_ cudaDeviceDisablePeerAccess(int peer) { return note(peer ? INVALID_DEVICE : NO_PEER); }
error_t_ cudaDeviceSetCacheConfig(int value) { return OK; }
error_t_ cudaDeviceGetCacheConfig(int *out) { return number(out, 0); }
error_t_ cudaDeviceSetSharedMemConfig(int value) { return OK; }
error_t_ cudaDeviceGetSharedMemConfig(int *out) { return number(out, 1); }
error_t_ cudaDriverGetVersion(int *out) { return number(out, 1000 * CUDART); }
error_t_ cudaRuntimeGetVersion(int *out) { return number(out, 1000 * CUDART); }
error_t_ cudaProfilerStart(void) { return OK; }
error_t_ cudaProfilerStop(void) { return OK; }
error_t_ cudaCtxResetPersistingL2Cache(void) { return OK; }
static size_t limits[8] = {1024, 1 << 20, 8 << 20};

error_t_ cudaDeviceSetLimit(int what, size_t value) {
  if (what < 0 || what > 7) return note(INVALID_VALUE);
  limits[what] = value;
  return OK;
}

error_t_ cudaDeviceGetLimit(size_t *out, int what) {
  if (what < 0 || what > 7 || !out) return note(INVALID_VALUE);
  *out = limits[what];
  return OK;
}

error_t_ cudaDeviceGetStreamPriorityRange(int *least, int *greatest) {
  if (least) *least = 0;
  if (greatest) *greatest = -5;
  return OK;
}

#define PCI "0000:00:00.0"

error_t_ cudaDeviceGetPCIBusId(char *out, int length, int device) {
  if (!out || length < (int)sizeof PCI || device) return note(device ? INVALID_DEVICE : INVALID_VALUE);
  strcpy(out, PCI);
  return OK;
}

error_t_ cudaDeviceGetByPCIBusId(int *out, const char *id) {
  return id && !strcmp(id, PCI) ? number(out, 0) : note(id ? INVALID_DEVICE : INVALID_VALUE);
}
