#include "backend/cpu/isa/kernels.h"

#include "backend/cpu/gather.h"

/* `count` stored values at element `from` of the set into y, divided as PyTorch divides. */
static void convert(const struct source *s, size_t from, size_t count, float *y)
{
    const float divisor = s->divisor;
    if (s->type == SOURCE_U8) {
        const uint8_t *x = (const uint8_t *)s->x + from;
        for (size_t i = 0; i < count; i++)
            y[i] = (float)x[i] / divisor;
    } else if (s->type == SOURCE_I32) {
        const int32_t *x = (const int32_t *)s->x + from;
        for (size_t i = 0; i < count; i++)
            y[i] = (float)x[i] / divisor;
    } else if (divisor == 1.0f) {
        memcpy(y, (const float *)s->x + from, count * sizeof(float));
    } else {
        const float *x = (const float *)s->x + from;
        for (size_t i = 0; i < count; i++)
            y[i] = x[i] / divisor;
    }
}

/* One image through its window: a run of pixels a line, reversed where it is flipped. */
static void convert_moved(const struct source *s, size_t from, struct gather_window w, float *y)
{
    const int32_t height = s->shape.d[0], width = s->shape.d[1];
    const size_t channels = (size_t)s->shape.d[2], line = (size_t)width * channels;
    /* Unflipped column x shows x + dx: columns [first, last) are inside. */
    const int32_t first = w.dx < 0 ? (-w.dx < width ? -w.dx : width) : 0;
    const int32_t last = w.dx > 0 ? (width - w.dx > first ? width - w.dx : first) : width;
    for (int32_t h = 0; h < height; h++, y += line) {
        const int32_t row = h + w.dy;
        memset(y, 0, line * sizeof(float));
        if (row < 0 || row >= height || first >= last)
            continue;
        const size_t start =
            from + ((size_t)row * (size_t)width + (size_t)(first + w.dx)) * channels;
        convert(s, start, (size_t)(last - first) * channels, y + (size_t)first * channels);
        if (!w.flip)
            continue;
        for (int32_t a = 0, b = width - 1; a < b; a++, b--)
            for (size_t ch = 0; ch < channels; ch++) {
                const float t = y[(size_t)a * channels + ch];
                y[(size_t)a * channels + ch] = y[(size_t)b * channels + ch];
                y[(size_t)b * channels + ch] = t;
            }
    }
}

static void gather(const struct op_call *c)
{
    const struct source *s = c->source;
    const bool moving = s->crop_flip && c->training;
    if (c->step->attr.is_tokens)
        gather_tokens(s, c->ids, c->rows, c->y);
    for (int32_t r = 0; r < c->rows && !c->step->attr.is_tokens; r++) {
        const size_t from = (size_t)c->ids[r] * s->sample_count;
        float *y = c->y + (size_t)r * s->sample_count;
        if (moving)
            convert_moved(s, from, gather_window_of(s, true, c->seed, c->epoch, c->ids[r]), y);
        else
            convert(s, from, s->sample_count, y);
    }
    gather_targets(s, c->ids, c->rows, c->target);
}

const struct cpu_kernel ISA_FN(gather_kernels)[] = {
    {STEP_GATHER, OP_INPUT, "gather", gather, NULL, false},
    {0},
};
