/* Random numbers of synthetic content.  Counter of every draw: seed 0, purpose RNG_SYNTH, the
 * stream as ordinal, a hash of the set's name as epoch, the sample (or class) as step.  So a sample
 * does not depend on how many there are. */
#ifndef DATA_SYNTHETIC_H
#define DATA_SYNTHETIC_H

#include "base/rng.h"
#include "data/loader.h"

enum synth_stream { STREAM_PATTERN, STREAM_NOISE, STREAM_SAMPLE };

static inline uint32_t synth_set(const char *name)
{
    uint32_t h = 0x811C9DC5u;
    for (; *name; name++)
        h = (h ^ (uint32_t)(unsigned char)*name) * 0x01000193u;
    return h;
}

static inline struct rng_block synth_draw(uint32_t set, enum synth_stream stream, uint32_t item,
                                          uint32_t quad)
{
    return rng_block_at(0, RNG_SYNTH, stream, set, item, quad);
}

#endif
