/* Vectors of floats for the instruction set a file is being compiled for (isa.cmake defines
 * FUGUE_ISA_<name>).  vf: VW floats; vm: a mask of the first n lanes.  Loads and stores take any
 * address.  v_fma is one fused operation where the set has it; elsewhere a multiply and an add.
 */
#ifndef BACKEND_CPU_ISA_SIMD_H
#define BACKEND_CPU_ISA_SIMD_H

#include <stdint.h>
#include <string.h>

#define ISA_PASTE2(name, isa) name##_##isa
#define ISA_PASTE(name, isa)  ISA_PASTE2(name, isa)
#define ISA_FN(name)          ISA_PASTE(name, FUGUE_ISA)
#define ISA_TEXT2(isa)        #isa
#define ISA_TEXT(isa)         ISA_TEXT2(isa)
#define ISA_NAME              ISA_TEXT(FUGUE_ISA)

#define ALWAYS_INLINE static inline __attribute__((always_inline))

#if defined(FUGUE_ISA_avx512)

#include <immintrin.h>
#define VW 16
#define vf __m512
#define vm __mmask16

ALWAYS_INLINE vm v_first(int n)
{
    return (vm)((1u << n) - 1u);
}
ALWAYS_INLINE vf v_zero(void)
{
    return _mm512_setzero_ps();
}
ALWAYS_INLINE vf v_set(float x)
{
    return _mm512_set1_ps(x);
}
ALWAYS_INLINE vf v_load(const float *p)
{
    return _mm512_loadu_ps(p);
}
ALWAYS_INLINE void v_store(float *p, vf x)
{
    _mm512_storeu_ps(p, x);
}
ALWAYS_INLINE vf v_load_m(const float *p, vm m)
{
    return _mm512_maskz_loadu_ps(m, p);
}
ALWAYS_INLINE void v_store_m(float *p, vf x, vm m)
{
    _mm512_mask_storeu_ps(p, m, x);
}
ALWAYS_INLINE vf v_add(vf a, vf b)
{
    return _mm512_add_ps(a, b);
}
ALWAYS_INLINE vf v_sub(vf a, vf b)
{
    return _mm512_sub_ps(a, b);
}
ALWAYS_INLINE vf v_mul(vf a, vf b)
{
    return _mm512_mul_ps(a, b);
}
ALWAYS_INLINE vf v_fma(vf a, vf b, vf c)
{
    return _mm512_fmadd_ps(a, b, c);
}
/* x < 0 ? 0 : x, which keeps what is not a number. */
ALWAYS_INLINE vf v_relu(vf x)
{
    return _mm512_max_ps(_mm512_setzero_ps(), x);
}

/* Indices at, at + 1, ... as the bits of a vector. */
ALWAYS_INLINE vf v_index(int32_t at)
{
    const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    return _mm512_castsi512_ps(_mm512_add_epi32(_mm512_set1_epi32(at), lane));
}
/* Where x is larger than *best or not a number, takes x and its index. */
ALWAYS_INLINE void v_take_larger(vf x, vf index, vf *best, vf *best_index)
{
    const __mmask16 take =
        _mm512_cmp_ps_mask(x, *best, _CMP_GT_OQ) | _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
    *best = _mm512_mask_mov_ps(*best, take, x);
    *best_index = _mm512_mask_mov_ps(*best_index, take, index);
}
/* x where the indices are the same, else 0. */
ALWAYS_INLINE vf v_where_same(vf index, vf other, vf x)
{
    return _mm512_maskz_mov_ps(
        _mm512_cmpeq_epi32_mask(_mm512_castps_si512(index), _mm512_castps_si512(other)), x);
}

#elif defined(FUGUE_ISA_avx2)

#include <immintrin.h>
#define VW 8
#define vf __m256
#define vm __m256i

ALWAYS_INLINE vm v_first(int n)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
ALWAYS_INLINE vf v_zero(void)
{
    return _mm256_setzero_ps();
}
ALWAYS_INLINE vf v_set(float x)
{
    return _mm256_set1_ps(x);
}
ALWAYS_INLINE vf v_load(const float *p)
{
    return _mm256_loadu_ps(p);
}
ALWAYS_INLINE void v_store(float *p, vf x)
{
    _mm256_storeu_ps(p, x);
}
ALWAYS_INLINE vf v_load_m(const float *p, vm m)
{
    return _mm256_maskload_ps(p, m);
}
ALWAYS_INLINE void v_store_m(float *p, vf x, vm m)
{
    _mm256_maskstore_ps(p, m, x);
}
ALWAYS_INLINE vf v_add(vf a, vf b)
{
    return _mm256_add_ps(a, b);
}
ALWAYS_INLINE vf v_sub(vf a, vf b)
{
    return _mm256_sub_ps(a, b);
}
ALWAYS_INLINE vf v_mul(vf a, vf b)
{
    return _mm256_mul_ps(a, b);
}
ALWAYS_INLINE vf v_fma(vf a, vf b, vf c)
{
    return _mm256_fmadd_ps(a, b, c);
}
ALWAYS_INLINE vf v_relu(vf x)
{
    return _mm256_max_ps(_mm256_setzero_ps(), x);
}

ALWAYS_INLINE vf v_index(int32_t at)
{
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_castsi256_ps(_mm256_add_epi32(_mm256_set1_epi32(at), lane));
}
ALWAYS_INLINE void v_take_larger(vf x, vf index, vf *best, vf *best_index)
{
    const vf take =
        _mm256_or_ps(_mm256_cmp_ps(x, *best, _CMP_GT_OQ), _mm256_cmp_ps(x, x, _CMP_UNORD_Q));
    *best = _mm256_blendv_ps(*best, x, take);
    *best_index = _mm256_blendv_ps(*best_index, index, take);
}
ALWAYS_INLINE vf v_where_same(vf index, vf other, vf x)
{
    const __m256i same = _mm256_cmpeq_epi32(_mm256_castps_si256(index), _mm256_castps_si256(other));
    return _mm256_and_ps(_mm256_castsi256_ps(same), x);
}

#else

#define VW 4
#define vm int
typedef float vf __attribute__((vector_size(16)));

ALWAYS_INLINE vm v_first(int n)
{
    return n;
}
ALWAYS_INLINE vf v_zero(void)
{
    return (vf){0};
}
ALWAYS_INLINE vf v_set(float x)
{
    return (vf){x, x, x, x};
}
ALWAYS_INLINE vf v_load(const float *p)
{
    vf x;
    memcpy(&x, p, sizeof x);
    return x;
}
ALWAYS_INLINE void v_store(float *p, vf x)
{
    memcpy(p, &x, sizeof x);
}
ALWAYS_INLINE vf v_load_m(const float *p, vm m)
{
    vf x = {0};
    memcpy(&x, p, (size_t)m * sizeof *p);
    return x;
}
ALWAYS_INLINE void v_store_m(float *p, vf x, vm m)
{
    memcpy(p, &x, (size_t)m * sizeof *p);
}
ALWAYS_INLINE vf v_add(vf a, vf b)
{
    return a + b;
}
ALWAYS_INLINE vf v_sub(vf a, vf b)
{
    return a - b;
}
ALWAYS_INLINE vf v_mul(vf a, vf b)
{
    return a * b;
}
ALWAYS_INLINE vf v_fma(vf a, vf b, vf c)
{
    return a * b + c;
}
ALWAYS_INLINE vf v_relu(vf x)
{
    vf y;
    for (int i = 0; i < VW; i++)
        y[i] = x[i] < 0 ? 0 : x[i];
    return y;
}

ALWAYS_INLINE vf v_index(int32_t at)
{
    const int32_t index[VW] = {at, at + 1, at + 2, at + 3};
    vf y;
    memcpy(&y, index, sizeof y);
    return y;
}
ALWAYS_INLINE void v_take_larger(vf x, vf index, vf *best, vf *best_index)
{
    float value[VW];
    int32_t from[VW], to[VW];
    memcpy(value, best, sizeof value);
    memcpy(from, &index, sizeof from);
    memcpy(to, best_index, sizeof to);
    for (int i = 0; i < VW; i++) {
        const int take = (x[i] > value[i]) | (x[i] != x[i]);
        value[i] = take ? x[i] : value[i];
        to[i] = take ? from[i] : to[i];
    }
    memcpy(best, value, sizeof value);
    memcpy(best_index, to, sizeof to);
}
ALWAYS_INLINE vf v_where_same(vf index, vf other, vf x)
{
    int32_t a[VW], b[VW];
    memcpy(a, &index, sizeof a);
    memcpy(b, &other, sizeof b);
    vf y;
    for (int i = 0; i < VW; i++)
        y[i] = a[i] == b[i] ? x[i] : 0;
    return y;
}

#endif

/* Sum of all lanes, halves first: a fixed order. */
ALWAYS_INLINE float v_sum(vf x)
{
    float t[VW];
    v_store(t, x);
    for (int half = VW / 2; half > 0; half /= 2)
        for (int i = 0; i < half; i++)
            t[i] += t[i + half];
    return t[0];
}

#endif
