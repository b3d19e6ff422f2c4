#include "backend/cpu/isa/gemm.h"

/* Rows of a tile; a tile is up to TILE_ROWS x 2 vectors, sums in registers. */
#if defined(FUGUE_ISA_avx512)
#define TILE_ROWS 8
#else
#define TILE_ROWS 6
#endif
#define TILE_COLS (2 * VW)

struct tile {
    const struct gemm *g;
    const float *a[TILE_ROWS];
    int32_t row, col;
    int32_t last; /* columns in the last vector */
};

/* mr rows, nv vectors, the last of them masked when tail: constants in every instance. */
ALWAYS_INLINE void tile_run(const struct tile *t, const int mr, const int nv, const bool tail)
{
    const struct gemm *g = t->g;
    const vm mask = v_first(tail ? t->last : VW - 1);
    const float *a[TILE_ROWS];
    vf sum[TILE_ROWS][2];
#pragma GCC unroll 8
    for (int r = 0; r < mr; r++) {
        a[r] = t->a[r];
#pragma GCC unroll 2
        for (int v = 0; v < nv; v++)
            sum[r][v] = v_zero();
    }
    const float *b = g->b + t->col;
    for (int32_t s = 0; s < g->n_seg; s++) {
        ptrdiff_t at = g->seg ? g->seg[s] : 0;
        for (int32_t k = 0; k < g->seg_len; k++) {
            vf x[2];
#pragma GCC unroll 2
            for (int v = 0; v < nv; v++)
                x[v] = tail && v == nv - 1 ? v_load_m(b + v * VW, mask) : v_load(b + v * VW);
#pragma GCC unroll 8
            for (int r = 0; r < mr; r++) {
                const vf y = v_set(a[r][at]);
#pragma GCC unroll 2
                for (int v = 0; v < nv; v++)
                    sum[r][v] = v_fma(y, x[v], sum[r][v]);
            }
            at += g->a_k;
            b += g->ldb;
        }
    }
#pragma GCC unroll 8
    for (int r = 0; r < mr; r++) {
        float *c = g->c + (t->row + r) * g->ldc + t->col;
#pragma GCC unroll 2
        for (int v = 0; v < nv; v++) {
            const bool masked = tail && v == nv - 1;
            vf y = sum[r][v];
            if (g->bias)
                y = v_add(y, masked ? v_load_m(g->bias + t->col + v * VW, mask)
                                    : v_load(g->bias + t->col + v * VW));
            if (g->add)
                y = v_add(masked ? v_load_m(c + v * VW, mask) : v_load(c + v * VW), y);
            if (g->relu)
                y = v_relu(y);
            if (masked)
                v_store_m(c + v * VW, y, mask);
            else
                v_store(c + v * VW, y);
        }
    }
}

#define TILE(mr, nv, tail)                                                                         \
    static void tile_##mr##_##nv##_##tail(const struct tile *t)                                    \
    {                                                                                              \
        tile_run(t, mr, nv, tail);                                                                 \
    }
#define TILES(mr)                                                                                  \
    TILE(mr, 1, 0)                                                                                 \
    TILE(mr, 1, 1)                                                                                 \
    TILE(mr, 2, 0)                                                                                 \
    TILE(mr, 2, 1)
#define ROW(mr)                                                                                    \
    {                                                                                              \
        {tile_##mr##_1_0, tile_##mr##_1_1}, {tile_##mr##_2_0, tile_##mr##_2_1},                    \
    }

TILES(1)
TILES(2)
TILES(3)
TILES(4)
TILES(5)
TILES(6)
#if TILE_ROWS == 8
TILES(7)
TILES(8)
#endif

typedef void (*tile_fn)(const struct tile *t);
static const tile_fn tiles[TILE_ROWS][2][2] = {
    ROW(1), ROW(2), ROW(3), ROW(4), ROW(5), ROW(6),
#if TILE_ROWS == 8
    ROW(7), ROW(8),
#endif
};

#if defined(FUGUE_ISA_avx512)
/* At most 8 columns: half vectors, of which the core multiplies two at a time.  The same sums in
 * the same order as a full vector's lanes. */
ALWAYS_INLINE void narrow_run(const struct tile *t, const int mr)
{
    const struct gemm *g = t->g;
    const __mmask8 mask = (__mmask8)((1u << t->last) - 1u);
    __m256 sum[TILE_ROWS];
#pragma GCC unroll 8
    for (int r = 0; r < mr; r++)
        sum[r] = _mm256_setzero_ps();
    const float *b = g->b + t->col;
    for (int32_t s = 0; s < g->n_seg; s++) {
        ptrdiff_t at = g->seg ? g->seg[s] : 0;
        for (int32_t k = 0; k < g->seg_len; k++, at += g->a_k, b += g->ldb) {
            const __m256 x = _mm256_maskz_loadu_ps(mask, b);
#pragma GCC unroll 8
            for (int r = 0; r < mr; r++)
                sum[r] = _mm256_fmadd_ps(_mm256_set1_ps(t->a[r][at]), x, sum[r]);
        }
    }
#pragma GCC unroll 8
    for (int r = 0; r < mr; r++) {
        float *c = g->c + (t->row + r) * g->ldc + t->col;
        __m256 y = sum[r];
        if (g->bias)
            y = _mm256_add_ps(y, _mm256_maskz_loadu_ps(mask, g->bias + t->col));
        if (g->add)
            y = _mm256_add_ps(_mm256_maskz_loadu_ps(mask, c), y);
        if (g->relu)
            y = _mm256_max_ps(_mm256_setzero_ps(), y);
        _mm256_mask_storeu_ps(c, mask, y);
    }
}

#define NARROW(mr)                                                                                 \
    static void narrow_##mr(const struct tile *t)                                                  \
    {                                                                                              \
        narrow_run(t, mr);                                                                         \
    }
NARROW(1)
NARROW(2)
NARROW(3)
NARROW(4)
NARROW(5)
NARROW(6)
NARROW(7)
NARROW(8)
static const tile_fn narrow[TILE_ROWS] = {narrow_1, narrow_2, narrow_3, narrow_4,
                                          narrow_5, narrow_6, narrow_7, narrow_8};
#endif

static tile_fn choose_tile(int32_t rows, int nv, int32_t last)
{
#if defined(FUGUE_ISA_avx512)
    if (nv == 1 && last <= VW / 2)
        return narrow[rows - 1];
#endif
    return tiles[rows - 1][nv - 1][last < VW];
}

/* One column of C: vectors run along k instead, where A's rows are contiguous. */
static void dot_rows(const struct gemm *g)
{
    const int32_t whole = g->seg_len / VW * VW;
    for (int32_t i = 0; i < g->m; i++) {
        const float *a = g->a + i * g->a_row;
        vf sum = v_zero();
        for (int32_t k = 0; k < whole; k += VW)
            sum = v_fma(v_load(a + k), v_load(g->b + k), sum);
        if (whole < g->seg_len) {
            const vm mask = v_first(g->seg_len - whole);
            sum = v_fma(v_load_m(a + whole, mask), v_load_m(g->b + whole, mask), sum);
        }
        float y = v_sum(sum);
        if (g->bias)
            y += g->bias[0];
        float *c = g->c + i * g->ldc;
        if (g->add)
            y = *c + y;
        *c = g->relu && y < 0 ? 0 : y;
    }
}

void ISA_FN(gemm)(const struct gemm *g)
{
    if (g->n == 1 && g->ldb == 1 && g->a_k == 1 && !g->seg && !g->a_rows) {
        dot_rows(g);
        return;
    }
    struct tile t = {.g = g};
    for (t.col = 0; t.col < g->n; t.col += TILE_COLS) {
        const int32_t cols = g->n - t.col < TILE_COLS ? g->n - t.col : TILE_COLS;
        const int nv = (cols + VW - 1) / VW;
        t.last = cols - (nv - 1) * VW;
        /* Tiles of about equal height: 9 rows as 5 + 4, not 8 + 1, keep more sums in flight. */
        int32_t rows = 0, left = (g->m + TILE_ROWS - 1) / TILE_ROWS;
        for (t.row = 0; t.row < g->m; t.row += rows, left--) {
            rows = (g->m - t.row + left - 1) / left;
            for (int32_t r = 0; r < rows; r++)
                t.a[r] = g->a + (g->a_rows ? g->a_rows[t.row + r] : (t.row + r) * g->a_row);
            choose_tile(rows, nv, t.last)(&t);
        }
    }
}

void ISA_FN(transpose)(const float *from, ptrdiff_t ld, int32_t rows, int32_t cols, float *to)
{
    int32_t r = 0;
#if defined(FUGUE_ISA_avx512) || defined(FUGUE_ISA_avx2)
    for (; r + 4 <= rows; r += 4) {
        const float *f = from + r * ld;
        int32_t c = 0;
        for (; c + 4 <= cols; c += 4) {
            __m128 a0 = _mm_loadu_ps(f + c), a1 = _mm_loadu_ps(f + ld + c);
            __m128 a2 = _mm_loadu_ps(f + 2 * ld + c), a3 = _mm_loadu_ps(f + 3 * ld + c);
            _MM_TRANSPOSE4_PS(a0, a1, a2, a3);
            float *o = to + (ptrdiff_t)c * rows + r;
            _mm_storeu_ps(o, a0);
            _mm_storeu_ps(o + rows, a1);
            _mm_storeu_ps(o + 2 * (ptrdiff_t)rows, a2);
            _mm_storeu_ps(o + 3 * (ptrdiff_t)rows, a3);
        }
        for (; c < cols; c++)
            for (int32_t i = 0; i < 4; i++)
                to[(ptrdiff_t)c * rows + r + i] = f[i * ld + c];
    }
#endif
    for (; r < rows; r++)
        for (int32_t c = 0; c < cols; c++)
            to[(ptrdiff_t)c * rows + r] = from[r * ld + c];
}

/* Rows are added in blocks, so that rounding errors of long sums stay small. */
#define SUM_BLOCK 256

ALWAYS_INLINE vf sum_block(const float *x, size_t rows, size_t ld, const bool whole, vm mask)
{
    vf sum = v_zero();
    for (size_t r = 0; r < rows; r++)
        sum = v_add(sum, whole ? v_load(x + r * ld) : v_load_m(x + r * ld, mask));
    return sum;
}

void ISA_FN(column_sums)(const float *x, size_t rows, int32_t cols, float *out)
{
    for (int32_t c = 0; c < cols; c += VW) {
        const bool whole = cols - c >= VW;
        const vm mask = v_first(whole ? VW - 1 : cols - c);
        vf sum = v_zero();
        for (size_t r = 0; r < rows; r += SUM_BLOCK) {
            const size_t n = rows - r < SUM_BLOCK ? rows - r : SUM_BLOCK;
            const float *from = x + r * (size_t)cols + c;
            sum = v_add(sum, whole ? sum_block(from, n, (size_t)cols, true, mask)
                                   : sum_block(from, n, (size_t)cols, false, mask));
        }
        if (whole)
            v_store(out + c, sum);
        else
            v_store_m(out + c, sum, mask);
    }
}
