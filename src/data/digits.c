#include "data/digits.h"

#include "data/loader.h"

/* Every fifth sample is the test split. */
static bool is_test(int i)
{
    return i % 5 == 4;
}

bool digits_load(const struct data_args *args, const char *root, struct dataset *d,
                 struct error *err)
{
    const struct data_def *def = args->def;
    (void)root;
    struct data_part *const part[2] = {&d->train, &d->test};
    uint8_t *x[2];
    int32_t *label[2];
    int64_t n[2] = {0, 0};
    for (int i = 0; i < DIGITS_N; i++)
        n[is_test(i)]++;
    for (int p = 0; p < 2; p++) {
        part[p]->x = x[p] = data_alloc((size_t)n[p], DIGITS_PIXELS, def, err);
        part[p]->label = label[p] = data_alloc((size_t)n[p], sizeof *label[p], def, err);
        if (!x[p] || !label[p])
            return false;
        part[p]->n = n[p];
    }
    for (int i = 0; i < DIGITS_N; i++) {
        const int p = is_test(i);
        for (int j = 0; j < DIGITS_PIXELS; j++)
            *x[p]++ = (uint8_t)(digits_rows[i][j] - 'A');
        *label[p]++ = digits_rows[i][DIGITS_PIXELS] - '0';
    }
    return true;
}
