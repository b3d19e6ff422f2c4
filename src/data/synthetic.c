/* Generated content of a set's exact shape: images and regressions. */
#include "data/synthetic.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Noise is drawn once into a bank of this many bytes; a sample takes a window of it at an offset
 * of its own.  A Philox word a pixel would take seconds for a large set. */
#define BANK (1u << 20)

struct synth {
    const struct data_def *def;
    const struct data_info *info;
    uint32_t set;     /* hash of the name */
    size_t pixels;    /* a sample */
    uint8_t *pattern; /* n_outputs x pixels */
    uint8_t *noise;   /* BANK + pixels */
};

/* Noise takes 0..noise_mask, patterns the rest of the range up to the divisor. */
static uint8_t noise_mask(const struct data_def *def)
{
    return def->divisor > 100 ? 63 : 3;
}

/* A sample is cut into CELLS x CELLS cells of one value a channel, so that crops and flips keep
 * much of a pattern. */
#define CELLS        8
#define MAX_CHANNELS 4

static void make_pattern(const struct synth *s, uint32_t class_)
{
    const struct shape shape = s->info->shape;
    const int32_t h = shape.d[0], w = shape.d[1], c = shape.d[2];
    const uint32_t levels = (uint32_t)s->def->divisor - noise_mask(s->def) + 1;
    uint8_t cell[CELLS * CELLS * MAX_CHANNELS];
    for (uint32_t i = 0; i < sizeof cell; i++)
        cell[i] = (uint8_t)(synth_draw(s->set, STREAM_PATTERN, class_, i).v[0] % levels);
    uint8_t *out = s->pattern + class_ * s->pixels;
    for (int32_t y = 0; y < h; y++)
        for (int32_t x = 0; x < w; x++) {
            const int32_t at = y * CELLS / h * CELLS + x * CELLS / w;
            memcpy(out, cell + at * MAX_CHANNELS, (size_t)c);
            out += c;
        }
}

static void make_noise(const struct synth *s)
{
    const uint8_t mask = noise_mask(s->def);
    const size_t n = BANK + s->pixels;
    for (size_t i = 0; i < n; i += 16) {
        const struct rng_block b = synth_draw(s->set, STREAM_NOISE, 0, (uint32_t)(i / 16));
        for (size_t j = 0; j < 16 && i + j < n; j++)
            s->noise[i + j] = (uint8_t)(b.v[j / 4] >> (8 * (j % 4))) & mask;
    }
}

static void add_bytes(uint8_t *restrict out, const uint8_t *restrict a, const uint8_t *restrict b,
                      size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (uint8_t)(a[i] + b[i]);
}

/* Samples first..first+n-1 of the set: test samples continue the numbers of the training ones. */
static bool make_part(const struct synth *s, int64_t first, int64_t n, struct data_part *part,
                      struct error *err)
{
    uint8_t *x = data_alloc((size_t)n, s->pixels, s->def, err);
    int32_t *label = data_alloc((size_t)n, sizeof *label, s->def, err);
    part->x = x;
    part->label = label;
    if (!x || !label)
        return false;
    for (int64_t i = 0; i < n; i++) {
        const struct rng_block b = synth_draw(s->set, STREAM_SAMPLE, (uint32_t)(first + i), 0);
        label[i] = (int32_t)(b.v[0] % (uint32_t)s->info->n_outputs);
        add_bytes(x + (size_t)i * s->pixels, s->pattern + (size_t)label[i] * s->pixels,
                  s->noise + b.v[1] % BANK, s->pixels);
    }
    part->n = n;
    return true;
}

static bool make_images(const struct data_def *def, const struct data_info *info, struct dataset *d,
                        struct error *err)
{
    struct synth s = {
        .def = def, .info = info, .set = synth_set(info->name), .pixels = shape_count(info->shape)};
    s.pattern = data_alloc((size_t)info->n_outputs, s.pixels, def, err);
    s.noise = data_alloc(BANK + s.pixels, 1, def, err);
    bool ok = s.pattern && s.noise;
    if (ok) {
        for (int32_t c = 0; c < info->n_outputs; c++)
            make_pattern(&s, (uint32_t)c);
        make_noise(&s);
        ok = make_part(&s, 0, info->n_train, &d->train, err) &&
             make_part(&s, info->n_train, info->n_test, &d->test, err);
    }
    free(s.pattern);
    free(s.noise);
    return ok;
}

/* Uniform of mean 0 and variance 1. */
static float unit_variance(uint32_t word)
{
    return (2.0f * rng_unit(word) - 1.0f) * 1.7320508f;
}

static bool make_regression(const struct data_def *def, const struct data_info *info,
                            struct dataset *d, struct error *err)
{
    const uint32_t set = synth_set(info->name);
    const size_t n = (size_t)info->n_train, features = shape_count(info->shape);
    float *x = data_alloc(n, features * sizeof *x, def, err);
    float *value = data_alloc(n, sizeof *value, def, err);
    d->train.x = x;
    d->train.value = value;
    if (!x || !value)
        return false;
    for (size_t i = 0; i < n; i++) {
        float *row = x + i * features;
        const struct rng_block extra = synth_draw(set, STREAM_NOISE, (uint32_t)i, 0);
        for (size_t j = 0; j < features; j += 4) {
            const struct rng_block b =
                synth_draw(set, STREAM_SAMPLE, (uint32_t)i, (uint32_t)(j / 4));
            for (size_t k = 0; k < 4 && j + k < features; k++)
                row[j + k] = unit_variance(b.v[k]);
        }
        value[i] = 2.0f + 0.8f * row[0] - 0.5f * row[1] + 0.4f * row[2] * row[3] +
                   0.3f * fabsf(row[4]) + 0.3f * unit_variance(extra.v[0]);
    }
    d->train.n = (int64_t)n;
    d->test = d->train; /* as the real set: test_is_train */
    return true;
}

bool synthetic_load(const struct data_def *def, const struct data_info *info, struct dataset *d,
                    struct error *err)
{
    if (info->vocabulary)
        return d->labels_per_sample > 1 ? synthetic_words(def, info, d, err)
                                        : synthetic_texts(def, info, d, err);
    return def->x_type == DATA_F32 ? make_regression(def, info, d, err)
                                   : make_images(def, info, d, err);
}
