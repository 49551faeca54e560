/* The CUDA runtime as programs link it, on Rayplay: types of the interface, and the connection to the process that
   executes kernels (wire.c). No header of CUDA is used; CUDART is the version whose library this build stands for.

   Device memory is a file of memory that both processes map. Here it lies at the addresses that kernels use, so that
   a device pointer is also a pointer of the host: copies, managed and page-locked memory need no messages. */
#ifndef RAYPLAY_SHIM_H
#define RAYPLAY_SHIM_H

#include <stddef.h>
#include <stdint.h>

typedef int error_t_; /* cudaError_t */
typedef uint64_t word;

typedef struct { unsigned x, y, z; } dim3;
typedef struct { size_t width, height, depth; } extent;
typedef struct { size_t x, y, z; } position;
typedef struct { void *ptr; size_t pitch, xsize, ysize; } pitched;
typedef struct { int x, y, z, w, kind; } channels;

enum { /* cudaError_t */
  OK = 0, INVALID_VALUE = 1, NO_MEMORY = 2, INVALID_CONFIGURATION = 9, INVALID_SYMBOL = 13, INVALID_FUNCTION = 98,
  INVALID_DEVICE = 101, NO_PEER = 705, ALREADY_REGISTERED = 712, NOT_REGISTERED = 713, INVALID_HANDLE = 400, NOT_SUPPORTED = 801,
  ILLEGAL_ADDRESS = 700, ASSERTION = 710, LAUNCH_FAILURE = 719, UNKNOWN = 999
};

enum { /* requests; cuda/messages.py has the same numbers */
  ASK_BINARY = 1, ASK_FUNCTION, ASK_VARIABLE, ASK_MEMORY, ASK_FREE, ASK_LAUNCH, ASK_TEXTURE, ASK_SURFACE, ASK_CARD
};

enum kind { DEVICE = 0, MANAGED, PINNED, REGISTERED, VARIABLE, ARRAY, OF_GRAPH };

typedef struct { word used, most; } tally; /* bytes of a memory pool: now, and at once since it was last asked to forget */

typedef struct { /* a range of device memory */
  word address, bytes;
  enum kind kind;
  char *host;  /* of registered memory: where the program has it */
  tally *pool; /* of memory from a pool */
} range;

typedef struct { /* cudaArray; rows are packed */
  char *data;
  size_t width, height, depth, texel;
  channels format;
  unsigned flags;
} array;

typedef struct { /* none changes how kernels run here */
  char window[32], domains[2];
  int synchronization, priority, domain, links;
} stream_attributes;

typedef struct {
  unsigned number, flags;
  stream_attributes attributes;
  unsigned long long capture; /* 0: none; what runs in the stream becomes nodes of a graph (capture.c) */
  void **last;                /* the nodes that the next one needs */
  size_t last_count;
} stream;

typedef struct { /* a kernel; sizes of its parameters are known after the first use */
  const void *host;
  unsigned binary, number, count;
  char *name;
  uint32_t *sizes;
  word figures[8];
  int preferred_shared, largest_shared;
} function;

enum { IS_COOPERATIVE = 2, CLUSTER = 4 }; /* of cudaLaunchAttributeID */
/* Whether a cluster has more than one CTA. */
static inline int is_cluster(const unsigned of[3]) { return of[0] > 1 || of[1] > 1 || of[2] > 1; }

enum { /* figures of a function, in the order of the reply */
  F_SHARED, F_CONSTANT, F_LOCAL, F_THREADS, F_REGISTERS, F_PTX, F_BINARY, F_MOST_DYNAMIC
};

enum { /* figures of the card, in the order of the reply */
  C_SMS, C_CLOCK_KHZ, C_WARPS, C_CTAS, C_REGISTERS, C_SHARED, C_L2_BYTES, C_BUS_BITS, C_MEMORY_KHZ, C_MEMORY_BYTES,
  C_MAJOR, C_MINOR, C_CONSTANT, C_COUNT
};

/* wire.c */
error_t_ ask(unsigned what, const void *payload, size_t bytes, void **reply, size_t *length);
error_t_ note(error_t_ error); /* remembers an error for cudaGetLastError, and returns it */
error_t_ lacking(const char *name);
void fail(error_t_ error);
error_t_ settle(void);
void end(const char *reason) __attribute__((noreturn));
void lock(void);
void unlock(void);
extern word nominal_ns;
int is_arena(const void *pointer);

/* memory.c */
range *range_at(const void *pointer);
void add_range(word address, word bytes, enum kind kind, tally *pool);
error_t_ take(word bytes, word align, enum kind kind, void **out);
error_t_ take_from(tally *pool, word bytes, void **out);
void leave_pool(tally *pool);
int is_valid(const void *pointer, size_t bytes);
word graph_memory(void);

/* launch.c */
function *function_at(const void *host);
error_t_ resolved(const void *host, function **out);
unsigned stream_number(stream *on);

/* device.c */
const word *card(void);
const char *card_name(void);

/* arrays.c */
error_t_ copy_box(char *to, size_t to_row, size_t to_slice, const char *from, size_t from_row, size_t from_slice,
                  size_t width, size_t height, size_t depth);

#define PER_THREAD(name) __typeof__(name) name##_ptsz __attribute__((alias(#name)))
#define PER_THREAD_S(name) __typeof__(name) name##_ptds __attribute__((alias(#name)))
/* CUDA 13 has one form of the calls whose form with data of edges is named _v2 in CUDA 12.3. */
#define ONLY_FORM(name) __typeof__(name##_v2) name __attribute__((alias(#name "_v2")))
#endif
