#include "data/split.h"

#include "base/rng.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>

/* ---- permutations in bulk ---------------------------------------------------------------------
 */

/* Indices permuted at a time: their working lists fit the first-level cache. */
#define CHUNK 2048
/* Loops of this fixed length are what compilers turn into vector code at any optimisation level. */
#define LANES 64

#if defined(__GNUC__) && defined(__x86_64__)
#define HAS_AVX2_COPY 1
#endif

/* rng_perm_step of LANES values, with the loop over rounds outside. */
static inline __attribute__((always_inline)) void step_lanes(const struct rng_perm *p,
                                                             uint32_t *value)
{
    uint32_t lo[LANES], hi[LANES];
    for (uint32_t j = 0; j < LANES; j++) {
        lo[j] = value[j] & p->lo_mask;
        hi[j] = value[j] >> p->lo_bits;
    }
    for (int r = 0; r < 8; r += 2) {
        const uint32_t k0 = p->key[r], k1 = p->key[r + 1];
        for (uint32_t j = 0; j < LANES; j++) {
            hi[j] ^= rng_mix(lo[j] + k0) & p->hi_mask;
            lo[j] ^= rng_mix(hi[j] + k1) & p->lo_mask;
        }
    }
    for (uint32_t j = 0; j < LANES; j++)
        value[j] = hi[j] << p->lo_bits | lo[j];
}

/* out[j] = map(perm(first + j)), map(i) = rows ? rows[i] : i, equal to rng_perm_at.  Instead of
 * walking one index at a time, the whole list takes a trip through the network, and what landed
 * outside 0..n-1 stays on the list for the next. */
static inline __attribute__((always_inline)) void permute_chunk(const struct rng_perm *perm,
                                                                const uint32_t *rows,
                                                                uint32_t first, uint32_t count,
                                                                uint32_t *out)
{
    const struct rng_perm p = *perm;
    uint32_t value[CHUNK];
    uint16_t at[CHUNK];
    for (uint32_t j = 0; j < CHUNK; j++) {
        value[j] = first + j;
        at[j] = (uint16_t)j;
    }
    while (count > 0) {
        for (uint32_t base = 0; base < count; base += LANES)
            step_lanes(&p, value + base);
        uint32_t left = 0;
        for (uint32_t j = 0; j < count; j++) {
            const uint32_t v = value[j], place = at[j], outside = v >= p.n;
            /* No branch: a guess would be wrong for a third of the values. */
            const uint32_t i = v & (outside - 1);
            /* Written even when outside: overwritten once the walk ends. */
            out[place] = rows ? rows[i] : i;
            value[left] = v;
            at[left] = (uint16_t)place;
            left += outside;
        }
        count = left;
    }
}

static void permute_generic(const struct rng_perm *p, const uint32_t *rows, uint32_t first,
                            uint32_t count, uint32_t *out)
{
    permute_chunk(p, rows, first, count, out);
}

#ifdef HAS_AVX2_COPY
/* Integer arithmetic only: the same values on every machine. */
__attribute__((target("avx2"))) static void permute_avx2(const struct rng_perm *p,
                                                         const uint32_t *rows, uint32_t first,
                                                         uint32_t count, uint32_t *out)
{
    permute_chunk(p, rows, first, count, out);
}
#endif

static void permute(const struct rng_perm *p, const uint32_t *rows, uint32_t *out)
{
    void (*run)(const struct rng_perm *, const uint32_t *, uint32_t, uint32_t, uint32_t *) =
        permute_generic;
#ifdef HAS_AVX2_COPY
    if (__builtin_cpu_supports("avx2"))
        run = permute_avx2;
#endif
    for (uint32_t first = 0; first < p->n; first += CHUNK)
        run(p, rows, first, p->n - first < CHUNK ? p->n - first : CHUNK, out + first);
}

void order_epoch(const uint32_t *rows, int64_t n, uint64_t seed, uint32_t epoch, uint32_t *out)
{
    if (n < 1)
        return;
    const struct rng_perm p = rng_perm_make((uint32_t)n, seed, RNG_ORDER, epoch);
    permute(&p, rows, out);
}

/* ---- splits -----------------------------------------------------------------------------------
 */

static uint32_t *first_rows(int64_t n)
{
    uint32_t *rows = xmalloc((size_t)n * sizeof *rows);
    for (int64_t i = 0; i < n; i++)
        rows[i] = (uint32_t)i;
    return rows;
}

static bool split_fixed(const struct split_spec *spec, const struct dataset *data, int64_t n,
                        struct split *out, struct error *err)
{
    (void)spec, (void)err;
    out->train = first_rows(n);
    out->n_train = n;
    out->val_is_test = !data->test_is_train;
    out->n_val = out->val_is_test ? data->test.n : n;
    out->val = first_rows(out->n_val);
    out->val_source = out->val_is_test ? "test" : "train";
    return true;
}

/* Validation = [from, from + n_val) of the permutation, train = the rest in order. */
static void split_permuted(uint64_t seed, int64_t n, int64_t from, int64_t n_val, struct split *out)
{
    const struct rng_perm p = rng_perm_make((uint32_t)n, seed, RNG_SPLIT, 0);
    uint32_t *perm = xmalloc((size_t)n * sizeof *perm);
    permute(&p, NULL, perm);
    out->n_val = n_val;
    out->n_train = n - n_val;
    out->val = xmalloc((size_t)n_val * sizeof *perm);
    out->train = xmalloc((size_t)out->n_train * sizeof *perm);
    uint32_t *train = out->train, *val = out->val;
    for (int64_t i = 0; i < n; i++)
        if (i >= from && i < from + n_val)
            *val++ = perm[i];
        else
            *train++ = perm[i];
    free(perm);
}

static bool split_holdout(const struct split_spec *spec, const struct dataset *data, int64_t n,
                          struct split *out, struct error *err)
{
    (void)data;
    if (!(spec->fraction > 0 && spec->fraction < 1))
        return error_set(err, ERROR_USAGE, "holdout: fraction %g must be above 0 and below 1",
                         spec->fraction);
    const int64_t n_val = (int64_t)floor((double)n * spec->fraction);
    if (n_val < 1 || n_val >= n)
        return error_set(err, ERROR_USAGE,
                         "holdout: a fraction of %g of %lld samples leaves %lld to validate and "
                         "%lld to train; both need one",
                         spec->fraction, (long long)n, (long long)n_val, (long long)(n - n_val));
    split_permuted(spec->seed, n, 0, n_val, out);
    out->val_source = "holdout";
    return true;
}

static bool split_kfold(const struct split_spec *spec, const struct dataset *data, int64_t n,
                        struct split *out, struct error *err)
{
    (void)data;
    const int64_t k = spec->k;
    if (k < 2 || k > n)
        return error_set(err, ERROR_USAGE,
                         "kfold: %lld folds of %lld samples; 2 to %lld are possible", (long long)k,
                         (long long)n, (long long)n);
    if (spec->split_id < 0)
        return error_set(err, ERROR_USAGE, "kfold: split %d is below 0", spec->split_id);
    const int64_t fold = spec->split_id % k, size = n / k, larger = n % k;
    const int64_t from = fold * size + (fold < larger ? fold : larger);
    split_permuted(spec->seed, n, from, size + (fold < larger), out);
    out->val_source = "fold";
    return true;
}

static const struct {
    const char *name;
    bool (*make)(const struct split_spec *spec, const struct dataset *data, int64_t n,
                 struct split *out, struct error *err);
} kinds[] = {
    [SPLIT_FIXED] = {"fixed", split_fixed},
    [SPLIT_HOLDOUT] = {"holdout", split_holdout},
    [SPLIT_KFOLD] = {"kfold", split_kfold},
};

const char *split_kind_name(enum split_kind kind)
{
    return kinds[kind].name;
}

bool split_kind_parse(const char *name, enum split_kind *out)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (text_equal_nocase(kinds[i].name, name)) {
            *out = (enum split_kind)i;
            return true;
        }
    return false;
}

bool split_make(const struct split_spec *spec, const struct dataset *data, int64_t train_limit,
                struct split *out, struct error *err)
{
    *out = (struct split){0};
    int64_t n = data->train.n;
    if (train_limit < 0 || train_limit > n)
        return error_set(err, ERROR_USAGE,
                         "a train_size of %lld: data set '%s' has %lld training samples",
                         (long long)train_limit, data->name, (long long)n);
    if (train_limit > 0)
        n = train_limit;
    if (n < 1 || n > INT32_MAX)
        return error_set(err, ERROR_DATA, "data set '%s' has %lld training samples", data->name,
                         (long long)n);
    return kinds[spec->kind].make(spec, data, n, out, err);
}

void split_release(struct split *s)
{
    free(s->train);
    free(s->val);
    *s = (struct split){0};
}
