// A product of half-precision matrices by CUDA's wmma, its tiles copied asynchronously, and one by mma and ldmatrix, for
// tests/tracer/test_compiled_units.py.
// nvcc -ptx -arch=compute_80 tensor.cu
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <mma.h>

using namespace nvcuda;

// C = A x B with a warp per 16 x 16 tile; A is m x k by rows, B k x n by rows, sizes multiples of 16
extern "C" __global__ void wmma_gemm(const half *a, const half *b, float *c, int n, int k) {
    __shared__ __align__(32) half tile[2][16][16];
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> right;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 0.0f);
    int row = blockIdx.y * 16, column = blockIdx.x * 16, lane = threadIdx.x;
    for (int start = 0; start < k; start += 16) {
        const half *from = a + (row + lane / 2) * k + start + lane % 2 * 8;
        __pipeline_memcpy_async(&tile[0][lane / 2][lane % 2 * 8], from, 16);
        from = b + (start + lane / 2) * n + column + lane % 2 * 8;
        __pipeline_memcpy_async(&tile[1][lane / 2][lane % 2 * 8], from, 16);
        __pipeline_commit();
        __pipeline_wait_prior(0);
        __syncwarp();
        wmma::load_matrix_sync(left, &tile[0][0][0], 16);
        wmma::load_matrix_sync(right, &tile[1][0][0], 16);
        wmma::mma_sync(sum, left, right, sum);
        __syncwarp();
    }
    for (int i = 0; i < sum.num_elements; i++)
        sum.x[i] *= 0.5f;
    wmma::store_matrix_sync(c + row * n + column, sum, n, wmma::mem_row_major);
}

// the same tile product with ldmatrix and mma.m16n8k16; B is k x n by rows and is transposed while it is loaded
extern "C" __global__ void mma_tile(const half *a, const half *b, float *c) {
    __shared__ __align__(16) half left[16 * 16], right[16 * 8];
    int lane = threadIdx.x;
    for (int i = lane; i < 16 * 16; i += 32)
        left[i] = a[i];
    for (int i = lane; i < 16 * 8; i += 32)
        right[i] = b[i];
    __syncwarp();
    unsigned x[4], y[2];
    float d[4] = {0, 0, 0, 0};
    unsigned at = __cvta_generic_to_shared(left + lane % 16 * 16 + lane / 16 * 8);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]) : "r"(at));
    at = __cvta_generic_to_shared(right + lane % 16 * 8);
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];" : "=r"(y[0]), "=r"(y[1]) : "r"(at));
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
    for (int i = 0; i < 4; i++)
        c[(lane / 4 + i / 2 * 8) * 8 + lane % 4 * 2 + i % 2] = d[i];
}

// integers: C = A x B, A by rows and B by columns
extern "C" __global__ void wmma_bytes(const signed char *a, const signed char *b, int *c) {
    wmma::fragment<wmma::matrix_a, 32, 8, 16, signed char, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, 32, 8, 16, signed char, wmma::col_major> right;
    wmma::fragment<wmma::accumulator, 32, 8, 16, int> sum;
    wmma::fill_fragment(sum, 7);
    wmma::load_matrix_sync(left, a, 16);
    wmma::load_matrix_sync(right, b, 16);
    wmma::mma_sync(sum, left, right, sum);
    wmma::store_matrix_sync(c, sum, 8, wmma::mem_row_major);
}
