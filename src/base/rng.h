/* Counter-based random numbers: every draw is a pure function of a key and a counter, so K, thread
 * count, worker and executor never enter.  Compiles as C17, C++17, CUDA and NVRTC (header only).
 *
 * Generator: Philox4x32-10 (Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as
 * 1, 2, 3", SC 2011).  Key = the job's 64-bit seed.  Counter:
 *   c[0] = purpose << 24 | layer ordinal in the graph (or parameter ordinal for initial weights)
 *   c[1] = epoch            (0 for initial weights and splits)
 *   c[2] = step or sample id
 *   c[3] = logical index / 4, the word of the result being logical index % 4
 * The logical index counts in N,C,H,W (or PyTorch's own parameter) order whatever the memory
 * layout. A committed test vector is in tests/base/test_rng.c.
 */
#ifndef BASE_RNG_H
#define BASE_RNG_H

#include <stdint.h>

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#define RNG_FUNC static inline __host__ __device__
#else
#define RNG_FUNC static inline
#endif

enum rng_purpose {
    RNG_INIT = 0,    /* initial weights */
    RNG_ORDER = 1,   /* order of the samples in an epoch */
    RNG_SPLIT = 2,   /* holdout and k-fold permutation */
    RNG_DROPOUT = 3, /* dropout masks */
    RNG_AUGMENT = 4, /* crops and flips */
    RNG_SYNTH = 5,   /* synthetic data */
    RNG_TEST = 6,    /* inputs of tests and fixtures */
};

struct rng_block {
    uint32_t v[4];
};

RNG_FUNC struct rng_block rng_philox(uint32_t k0, uint32_t k1, uint32_t c0, uint32_t c1,
                                     uint32_t c2, uint32_t c3)
{
    for (int round = 0; round < 10; round++) {
        const uint64_t a = (uint64_t)0xD2511F53u * c0;
        const uint64_t b = (uint64_t)0xCD9E8D57u * c2;
        const uint32_t n0 = (uint32_t)(b >> 32) ^ c1 ^ k0;
        const uint32_t n2 = (uint32_t)(a >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)b;
        c3 = (uint32_t)a;
        c0 = n0;
        c2 = n2;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    struct rng_block out = {{c0, c1, c2, c3}};
    return out;
}

/* Four words for logical indices 4*quad .. 4*quad+3. */
RNG_FUNC struct rng_block rng_block_at(uint64_t seed, uint32_t purpose, uint32_t ordinal,
                                       uint32_t epoch, uint32_t step, uint32_t quad)
{
    return rng_philox((uint32_t)seed, (uint32_t)(seed >> 32), purpose << 24 | (ordinal & 0xFFFFFFu),
                      epoch, step, quad);
}

/* One word for one logical index. */
RNG_FUNC uint32_t rng_u32_at(uint64_t seed, uint32_t purpose, uint32_t ordinal, uint32_t epoch,
                             uint32_t step, uint32_t index)
{
    return rng_block_at(seed, purpose, ordinal, epoch, step, index / 4).v[index % 4];
}

/* [0, 1) with 24 bits: exactly representable in float, the same on every device. */
RNG_FUNC float rng_unit(uint32_t word)
{
    return (float)(word >> 8) * (1.0f / 16777216.0f);
}

/* A bijection on 0..n-1 that can be evaluated at any index on its own (no sort, no memory), so that
 * a GPU kernel computes its own sample index.  An 8-round Feistel network over the smallest 2^bits
 * >= n, walked until the value is below n (cycle walking: fewer than 2 evaluations on average).
 * Round keys come from Philox(seed, purpose, epoch).  1 <= n <= 2^31.
 */
struct rng_perm {
    uint32_t n;
    uint32_t lo_bits, lo_mask, hi_mask;
    uint32_t key[8];
};

RNG_FUNC struct rng_perm rng_perm_make(uint32_t n, uint64_t seed, uint32_t purpose, uint32_t epoch)
{
    struct rng_perm p;
    uint32_t bits = 2;
    while (bits < 31 && (1u << bits) < n)
        bits++;
    p.n = n;
    p.lo_bits = bits / 2;
    p.lo_mask = (1u << p.lo_bits) - 1;
    p.hi_mask = (1u << (bits - p.lo_bits)) - 1;
    for (uint32_t half = 0; half < 2; half++) {
        const struct rng_block b = rng_block_at(seed, purpose, 0, epoch, n, half);
        for (uint32_t i = 0; i < 4; i++)
            p.key[4 * half + i] = b.v[i];
    }
    return p;
}

RNG_FUNC uint32_t rng_mix(uint32_t x)
{
    x ^= x >> 16;
    x *= 0x85EBCA6Bu;
    x ^= x >> 13;
    x *= 0xC2B2AE35u;
    return x ^ (x >> 16);
}

/* One trip through the network: a bijection on 0..2^bits-1. */
RNG_FUNC uint32_t rng_perm_step(const struct rng_perm *p, uint32_t x)
{
    uint32_t lo = x & p->lo_mask, hi = x >> p->lo_bits;
    for (int r = 0; r < 8; r += 2) {
        hi ^= rng_mix(lo + p->key[r]) & p->hi_mask;
        lo ^= rng_mix(hi + p->key[r + 1]) & p->lo_mask;
    }
    return hi << p->lo_bits | lo;
}

RNG_FUNC uint32_t rng_perm_at(const struct rng_perm *p, uint32_t i)
{
    uint32_t x = rng_perm_step(p, i);
    while (x >= p->n)
        x = rng_perm_step(p, x);
    return x;
}

#endif
