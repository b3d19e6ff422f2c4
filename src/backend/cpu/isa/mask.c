/* Masks of dropout: blocks of Philox (base/rng.h), a vector of them at a time. */
#include "backend/cpu/isa/dropout.h"

#include "base/rng.h"

/* What all blocks of a mask share. */
struct stream {
    uint32_t purpose, epoch, batch, k0, k1;
    float p, scale;
};

#if defined(FUGUE_ISA_avx512) || defined(FUGUE_ISA_avx2)

#if defined(FUGUE_ISA_avx512)
#define vi           __m512i
#define i_set(x)     _mm512_set1_epi32((int)(x))
#define i_add(a, b)  _mm512_add_epi32(a, b)
#define i_xor(a, b)  _mm512_xor_si512(a, b)
#define i_mul(a, b)  _mm512_mul_epu32(a, b)
#define i_down(a)    _mm512_srli_epi64(a, 32)
#define i_up(a)      _mm512_slli_epi64(a, 32)
#define i_odd(a, b)  _mm512_mask_blend_epi32(0xAAAA, a, b)
#define i_unit(a)    _mm512_cvtepi32_ps(_mm512_srli_epi32(a, 8))
#define f_low(a, b)  _mm512_unpacklo_ps(a, b)
#define f_high(a, b) _mm512_unpackhi_ps(a, b)
#define f_pairs(a, b, high)                                                                        \
    _mm512_castpd_ps((high) ? _mm512_unpackhi_pd(_mm512_castps_pd(a), _mm512_castps_pd(b))         \
                            : _mm512_unpacklo_pd(_mm512_castps_pd(a), _mm512_castps_pd(b)))
#define f_keep(u, p, scale) _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(u, p, _CMP_GE_OQ), scale)
#else
#define vi           __m256i
#define i_set(x)     _mm256_set1_epi32((int)(x))
#define i_add(a, b)  _mm256_add_epi32(a, b)
#define i_xor(a, b)  _mm256_xor_si256(a, b)
#define i_mul(a, b)  _mm256_mul_epu32(a, b)
#define i_down(a)    _mm256_srli_epi64(a, 32)
#define i_up(a)      _mm256_slli_epi64(a, 32)
#define i_odd(a, b)  _mm256_blend_epi32(a, b, 0xAA)
#define i_unit(a)    _mm256_cvtepi32_ps(_mm256_srli_epi32(a, 8))
#define f_low(a, b)  _mm256_unpacklo_ps(a, b)
#define f_high(a, b) _mm256_unpackhi_ps(a, b)
#define f_pairs(a, b, high)                                                                        \
    _mm256_castpd_ps((high) ? _mm256_unpackhi_pd(_mm256_castps_pd(a), _mm256_castps_pd(b))         \
                            : _mm256_unpacklo_pd(_mm256_castps_pd(a), _mm256_castps_pd(b)))
#define f_keep(u, p, scale) _mm256_and_ps(_mm256_cmp_ps(u, p, _CMP_GE_OQ), scale)
#endif

/* High and low words of a times m, lane by lane. */
ALWAYS_INLINE void multiply(vi a, vi m, vi *high, vi *low)
{
    const vi even = i_mul(a, m), odd = i_mul(i_down(a), m);
    *high = i_odd(i_down(even), odd);
    *low = i_odd(even, i_up(odd));
}

/* Blocks quad ... quad + VW, block 4-rows: lane 4 l + j of the vectors is block (VW / 4) j + l, so
 * that transposing words within lanes of 128 bits gives elements in order. */
static void draw(const struct stream *s, uint32_t quad, float *out)
{
    uint32_t order[VW];
    for (uint32_t e = 0; e < VW; e++)
        order[e] = VW / 4 * (e % 4) + e / 4;
    vi lanes;
    memcpy(&lanes, order, sizeof lanes);
    vi c0 = i_set(s->purpose), c1 = i_set(s->epoch), c2 = i_set(s->batch);
    vi c3 = i_add(i_set(quad), lanes);
    uint32_t k0 = s->k0, k1 = s->k1;
    const vi m0 = i_set(0xD2511F53u), m1 = i_set(0xCD9E8D57u);
    for (int round = 0; round < 10; round++, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u) {
        vi a_high, a_low, b_high, b_low;
        multiply(c0, m0, &a_high, &a_low);
        multiply(c2, m1, &b_high, &b_low);
        c0 = i_xor(i_xor(b_high, c1), i_set(k0));
        c2 = i_xor(i_xor(a_high, c3), i_set(k1));
        c1 = b_low;
        c3 = a_low;
    }
    const vf unit = v_set(1.0f / 16777216.0f), p = v_set(s->p), scale = v_set(s->scale);
    const vf w0 = f_keep(v_mul(i_unit(c0), unit), p, scale);
    const vf w1 = f_keep(v_mul(i_unit(c1), unit), p, scale);
    const vf w2 = f_keep(v_mul(i_unit(c2), unit), p, scale);
    const vf w3 = f_keep(v_mul(i_unit(c3), unit), p, scale);
    const vf low01 = f_low(w0, w1), high01 = f_high(w0, w1);
    const vf low23 = f_low(w2, w3), high23 = f_high(w2, w3);
    v_store(out, f_pairs(low01, low23, 0));
    v_store(out + VW, f_pairs(low01, low23, 1));
    v_store(out + 2 * VW, f_pairs(high01, high23, 0));
    v_store(out + 3 * VW, f_pairs(high01, high23, 1));
}

#else

static void draw(const struct stream *s, uint32_t quad, float *out)
{
    for (uint32_t i = 0; i < VW; i++) {
        const struct rng_block b =
            rng_philox(s->k0, s->k1, s->purpose, s->epoch, s->batch, quad + i);
        for (int w = 0; w < 4; w++)
            out[4 * i + (uint32_t)w] = rng_unit(b.v[w]) >= s->p ? s->scale : 0.0f;
    }
}

#endif

const float *ISA_FN(dropout_factors)(const struct op_call *c, size_t first, size_t n, float *out)
{
    const float p = c->step->attr.p;
    const struct stream s = {.purpose = (uint32_t)RNG_DROPOUT << 24 |
                                        ((uint32_t)c->step->ordinal & 0xFFFFFFu),
                             .epoch = c->epoch,
                             .batch = c->batch,
                             .k0 = (uint32_t)c->seed,
                             .k1 = (uint32_t)(c->seed >> 32),
                             .p = p,
                             .scale = 1.0f / (1.0f - p)};
    const uint32_t quad = (uint32_t)(first / 4), skip = (uint32_t)(first % 4);
    for (size_t at = 0; at < skip + n; at += 4 * VW)
        draw(&s, quad + (uint32_t)(at / 4), out + at);
    return out + skip;
}
