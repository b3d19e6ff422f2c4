/* What comes from the random streams and the data set: gathered batches, crops and flips, dropout
 * masks, against the formulas of base/rng.h and data/dataset.h written out here. */
#include "helper_case.h"

#include "base/rng.h"

#define H       6
#define W       7
#define C       3
#define SAMPLES 40
#define ROWS    9

static uint8_t bytes[SAMPLES * H * W * C];
static float floats[SAMPLES * H * W * C];
static int32_t label[SAMPLES];
static float value[SAMPLES];
static const uint32_t ids[ROWS] = {3, 39, 0, 17, 3, 8, 21, 30, 5};

static void fill(void)
{
    for (uint32_t i = 0; i < SAMPLES * H * W * C; i++) {
        bytes[i] = (uint8_t)(rng_u32_at(1, RNG_TEST, 0, 0, 0, i) >> 24);
        floats[i] = rng_unit(rng_u32_at(1, RNG_TEST, 1, 0, 0, i)) + 0.5f;
    }
    for (int i = 0; i < SAMPLES; i++) {
        label[i] = i % 11;
        value[i] = 0.5f * (float)i;
    }
}

static void gather(const struct cpu_isa *isa, const struct source *s, bool training, float *y,
                   void *target)
{
    const struct plan_step step = {.kind = STEP_GATHER, .op = OP_INPUT};
    const struct op_call call = {.step = &step,
                                 .rows = ROWS,
                                 .n_valid = ROWS,
                                 .rows_per_shard = ROWS,
                                 .training = training,
                                 .seed = 77,
                                 .epoch = 4,
                                 .ids = ids,
                                 .source = s,
                                 .y = y,
                                 .target = target};
    cpu_kernel_find(isa, STEP_GATHER, OP_INPUT)->run(&call);
}

/* Pixel (h, w) of an augmented sample: crop of the image padded by 4, then a flip. */
static float augmented(uint32_t id, int h, int w, int ch)
{
    const struct rng_block b = rng_block_at(77, RNG_AUGMENT, 0, 4, id, 0);
    const int dy = (int)(b.v[0] % 9) - 4, dx = (int)(b.v[1] % 9) - 4;
    const int column = b.v[2] & 1 ? W - 1 - w : w;
    const int row = h + dy, col = column + dx;
    if (row < 0 || row >= H || col < 0 || col >= W)
        return 0;
    return (float)bytes[((id * H + (uint32_t)row) * W + (uint32_t)col) * C + (uint32_t)ch] / 255.0f;
}

static void check_gather(const struct cpu_isa *isa)
{
    static float y[ROWS * H * W * C];
    int32_t classes[ROWS];
    float values[ROWS];
    struct source s = {.type = SOURCE_U8,
                       .x = bytes,
                       .sample_count = H * W * C,
                       .shape = {3, {H, W, C}},
                       .divisor = 255.0f,
                       .label = label,
                       .crop_flip = true};
    gather(isa, &s, true, y, classes);
    int zeros = 0, moved = 0;
    for (int r = 0; r < ROWS; r++) {
        assert_int_equal(classes[r], label[ids[r]]);
        for (int i = 0; i < H * W * C; i++) {
            const float expected = augmented(ids[r], i / C / W, i / C % W, i % C);
            assert_true(y[r * H * W * C + i] == expected);
            zeros += expected == 0;
            moved += expected != (float)bytes[(int)ids[r] * H * W * C + i] / 255.0f;
        }
    }
    assert_true(zeros > 50 && moved > 500);
    gather(isa, &s, false, y, classes); /* evaluation sees the samples as they are */
    for (int r = 0; r < ROWS; r++)
        for (int i = 0; i < H * W * C; i++)
            assert_true(y[r * H * W * C + i] == (float)bytes[(int)ids[r] * H * W * C + i] / 255.0f);
    s = (struct source){.type = SOURCE_F32,
                        .x = floats,
                        .sample_count = H * W * C,
                        .shape = {3, {H, W, C}},
                        .divisor = 3.0f,
                        .value = value};
    for (int divided = 0; divided < 2; divided++, s.divisor = 1.0f) {
        gather(isa, &s, true, y, values);
        for (int r = 0; r < ROWS; r++) {
            assert_true(values[r] == value[ids[r]]);
            for (int i = 0; i < H * W * C; i++)
                assert_true(y[r * H * W * C + i] ==
                            floats[(int)ids[r] * H * W * C + i] / s.divisor);
        }
    }
}

static void each_set(void (*check)(const struct cpu_isa *isa))
{
    check(&cpu_isa_reference);
    for (int s = 0; cpu_isas[s]; s++)
        if (cpu_isas[s]->usable())
            check(cpu_isas[s]);
}

static void test_gather(void **state)
{
    (void)state;
    each_set(check_gather);
}

/* Element (n, c, h, w) of the batch is kept when its unit is at least p; helper_run.h runs with
 * ordinal 4, epoch 2, batch 3. */
static void check_dropout(const struct cpu_isa *isa)
{
    for (int32_t shard = 1; shard <= 4; shard++) {
        const struct op_case c = {.op = OP_DROPOUT,
                                  .attr = {.p = 0.3f},
                                  .in = {3, {3, 5, 4}},
                                  .batch = 4,
                                  .rows_per_shard = shard,
                                  .n_valid = 4,
                                  .seed = 123456789012345u};
        struct op_values v;
        int kept = 0;
        values_init(&v, &c);
        case_run(&c, isa, &v);
        for (uint32_t n = 0; n < 4; n++)
            for (uint32_t ch = 0; ch < 4; ch++)
                for (uint32_t p = 0; p < 15; p++) {
                    const uint32_t word =
                        rng_u32_at(c.seed, RNG_DROPOUT, 4, 2, 3, (n * 4 + ch) * 15 + p);
                    const float scale = rng_unit(word) >= 0.3f ? 1.0f / (1.0f - 0.3f) : 0.0f;
                    const size_t at = (n * 15 + p) * 4 + ch;
                    assert_true((float)v.y[at] == (float)v.x[at] * scale);
                    assert_true((float)v.dx[at] == (float)v.dy[at] * scale);
                    kept += scale > 0;
                }
        assert_in_range(kept, 140, 200);
        values_release(&v);
    }
}

static void test_dropout(void **state)
{
    (void)state;
    each_set(check_dropout);
}

int main(void)
{
    fill();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gather),
        cmocka_unit_test(test_dropout),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
