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
    for (int i = 0; i < m; i++)
        x[i] = p[i];
    return x;
}
ALWAYS_INLINE void v_store_m(float *p, vf x, vm m)
{
    for (int i = 0; i < m; i++)
        p[i] = x[i];
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
