/* Pieces every gather kernel shares: the augmentation window (data/dataset.h, AUGMENT_CROP_FLIP: a
 * pure function of job seed, epoch and sample id) and the copy of targets. */
#ifndef BACKEND_CPU_GATHER_H
#define BACKEND_CPU_GATHER_H

#include "backend/backend.h"
#include "base/rng.h"

#include <string.h>

/* Output pixel (h, w) shows input pixel (h + dy, flip ? width - 1 - w + dx : w + dx), 0 outside. */
struct gather_window {
    bool moved; /* false: the sample as it is */
    bool flip;
    int32_t dy, dx;
};

static inline struct gather_window gather_window_of(const struct source *s, bool training,
                                                    uint64_t seed, uint32_t epoch, uint32_t id)
{
    struct gather_window w = {0};
    if (!s->crop_flip || !training)
        return w;
    const struct rng_block b = rng_block_at(seed, RNG_AUGMENT, 0, epoch, id, 0);
    w.moved = true;
    w.dy = (int32_t)(b.v[0] % 9) - 4;
    w.dx = (int32_t)(b.v[1] % 9) - 4;
    w.flip = b.v[2] & 1;
    return w;
}

/* Element of the sample that output element i shows; false: padding. */
static inline bool gather_moved_index(struct shape shape, struct gather_window w, size_t i,
                                      size_t *from)
{
    const size_t channels = (size_t)shape.d[2];
    const int32_t pixel = (int32_t)(i / channels);
    const int32_t x = pixel % shape.d[1];
    const int32_t row = pixel / shape.d[1] + w.dy;
    const int32_t col = (w.flip ? shape.d[1] - 1 - x : x) + w.dx;
    if (row < 0 || row >= shape.d[0] || col < 0 || col >= shape.d[1])
        return false;
    *from = ((size_t)row * (size_t)shape.d[1] + (size_t)col) * channels + i % channels;
    return true;
}

/* Classes or values of `rows` samples, 4 bytes each; label_count each for tokens. */
static inline void gather_targets(const struct source *s, const uint32_t *ids, int32_t rows,
                                  void *target)
{
    const char *from = s->label ? (const char *)s->label : (const char *)s->value;
    const size_t bytes = 4 * (size_t)(s->label && s->label_count > 1 ? s->label_count : 1);
    for (int32_t r = 0; r < rows; r++)
        memcpy((char *)target + bytes * (size_t)r, from + bytes * (size_t)ids[r], bytes);
}

/* The token ids of `rows` samples, as they are. */
static inline void gather_tokens(const struct source *s, const uint32_t *ids, int32_t rows,
                                 void *tokens)
{
    const size_t n = s->sample_count;
    for (int32_t r = 0; r < rows; r++)
        memcpy((int32_t *)tokens + (size_t)r * n, (const int32_t *)s->x + (size_t)ids[r] * n,
               n * sizeof(int32_t));
}

#endif
