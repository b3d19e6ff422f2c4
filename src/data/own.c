#include "data/own.h"

#include "base/file.h"
#include "base/rng.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool own_read(const char *path, char **bytes, size_t *n, char **used, struct error *err)
{
    const size_t len = strlen(path);
    char *plain = xstrdup(path);
    if (len > 3 && strcmp(path + len - 3, ".gz") == 0)
        plain[len - 3] = '\0';
    const bool ok = file_read_maybe_gz(plain, OWN_MAX_BYTES, bytes, n, used, err);
    free(plain);
    return ok;
}

/* ---- the test part ----------------------------------------------------------------------------
 */

static int64_t set_aside(const struct own_set *s, const struct data_args *args)
{
    return s->has_test
               ? 0
               : (int64_t)floor((double)s->train.y.n * data_arg_number(args, "test_fraction"));
}

/* One byte a row: is it set aside to test?  Owned. */
static uint8_t *test_rows(const struct own_set *s, int64_t n_test)
{
    const int64_t n = s->train.y.n;
    uint8_t *is_test = xcalloc((size_t)n, 1);
    const struct rng_perm perm = rng_perm_make((uint32_t)n, 0, RNG_SPLIT, 1);
    for (int64_t i = 0; i < n_test; i++)
        is_test[rng_perm_at(&perm, (uint32_t)i)] = 1;
    return is_test;
}

static bool check_sizes(const struct own_set *s, const struct data_args *args, struct error *err)
{
    const int64_t n = s->train.y.n, n_test = set_aside(s, args);
    if (n > INT32_MAX)
        return error_set(err, ERROR_DATA, "data set '%s' has %lld samples; at most %d are possible",
                         args->text, (long long)n, INT32_MAX);
    if (n < 1 || (n_test == 0 && !s->has_test && data_arg_number(args, "test_fraction") > 0))
        return error_set(err, ERROR_DATA,
                         "data set '%s' has %lld sample%s, too few to set any aside for testing; "
                         "test_fraction=0 sets none aside",
                         args->text, (long long)n, n == 1 ? "" : "s");
    return true;
}

/* ---- classes ----------------------------------------------------------------------------------
 */

static int compare_numbers(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int compare_fields(const void *a, const void *b)
{
    const struct csv_field *x = a, *y = b;
    const int order = memcmp(x->text, y->text, x->len < y->len ? x->len : y->len);
    return order ? order : (x->len > y->len) - (x->len < y->len);
}

/* Sorts n items of a copy and keeps one of each; the copy is the caller's. */
static void *distinct(const void *items, int64_t n, size_t size,
                      int (*compare)(const void *, const void *), int64_t *n_distinct)
{
    char *all = xmalloc((size_t)n * size);
    memcpy(all, items, (size_t)n * size);
    qsort(all, (size_t)n, size, compare);
    size_t kept = 1;
    for (size_t i = 1; i < (size_t)n; i++)
        if (compare(all + i * size, all + (kept - 1) * size) != 0)
            memmove(all + kept++ * size, all + i * size, size);
    *n_distinct = (int64_t)kept;
    return all;
}

static bool all_whole(const struct own_targets *y)
{
    for (int64_t i = 0; i < y->n; i++)
        if (y->number[i] != floor(y->number[i]) || fabs(y->number[i]) > 9e15)
            return false;
    return true;
}

static bool set_classes(struct own_set *s, const struct data_args *args, bool guessed,
                        struct error *err)
{
    const struct own_targets *y = &s->train.y;
    int64_t n = 0;
    if (y->text)
        s->class_text = distinct(y->text, y->n, sizeof *y->text, compare_fields, &n);
    else
        s->class_number = distinct(y->number, y->n, sizeof *y->number, compare_numbers, &n);
    if (guessed && !y->text && n > OWN_MAX_GUESSED)
        return error_set(err, ERROR_USAGE,
                         "data set '%s': the targets are %lld different whole numbers; say what "
                         "they are: task=regression or task=classification",
                         args->text, (long long)n);
    if (n > OWN_MAX_CLASSES)
        return error_set(err, ERROR_DATA, "data set '%s' has %lld classes; at most %d are possible",
                         args->text, (long long)n, OWN_MAX_CLASSES);
    if (n < 2)
        return error_set(err, ERROR_DATA,
                         "data set '%s': all targets are the same; two classes are needed",
                         args->text);
    s->is_classes = true;
    s->n_classes = (int32_t)n;
    return true;
}

/* -1 when the training part has no such class. */
static int32_t class_of(const struct own_set *s, const struct own_targets *y, int64_t i)
{
    const size_t n = (size_t)s->n_classes;
    if (s->class_text) {
        const struct csv_field *at =
            bsearch(&y->text[i], s->class_text, n, sizeof *at, compare_fields);
        return at ? (int32_t)(at - s->class_text) : -1;
    }
    const double *at = bsearch(&y->number[i], s->class_number, n, sizeof *at, compare_numbers);
    return at ? (int32_t)(at - s->class_number) : -1;
}

static bool check_test_classes(const struct own_set *s, const struct data_args *args,
                               struct error *err)
{
    const struct own_targets *y = &s->test.y;
    for (int64_t i = 0; s->is_classes && i < y->n; i++) {
        if (class_of(s, y, i) >= 0)
            continue;
        if (y->text)
            return error_set(
                err, ERROR_DATA,
                "data set '%s': test sample %lld is of class '%.*s', which no training "
                "sample has",
                args->text, (long long)i + 1, (int)(y->text[i].len < 40 ? y->text[i].len : 40),
                y->text[i].text);
        return error_set(err, ERROR_DATA,
                         "data set '%s': test sample %lld is of class %g, which no training sample "
                         "has",
                         args->text, (long long)i + 1, y->number[i]);
    }
    return true;
}

bool own_finish(struct own_set *s, const struct data_args *args, struct error *err)
{
    const char *task = data_arg_text(args, "task");
    const struct own_targets *y = &s->train.y;
    const bool guess = !task || strcmp(task, "auto") == 0;
    if (!check_sizes(s, args, err))
        return false;
    if (s->has_test && !s->test.y.text != !y->text)
        return error_set(err, ERROR_DATA,
                         "data set '%s': the targets to train are %s, but those to test are not",
                         args->text, y->text ? "text" : "numbers");
    if (guess && !y->text && (y->real || !all_whole(y)))
        return true;
    if (!guess && strcmp(task, "regression") == 0)
        return !y->text || error_set(err, ERROR_DATA,
                                     "data set '%s': task=regression needs numbers as targets, but "
                                     "they are text",
                                     args->text);
    if (!y->text && !all_whole(y))
        return error_set(err, ERROR_DATA,
                         "data set '%s': task=classification needs whole numbers or text as "
                         "targets; task=regression takes any number",
                         args->text);
    return set_classes(s, args, guess, err) && check_test_classes(s, args, err);
}

/* ---- describing and filling -------------------------------------------------------------------
 */

void own_describe(const struct own_set *s, const struct data_args *args, struct data_info *info)
{
    const int64_t aside = set_aside(s, args);
    info->shape = s->shape;
    info->n_outputs = s->is_classes ? s->n_classes : 1;
    info->task = s->is_classes ? "classification" : "regression";
    info->n_train = s->train.y.n - aside;
    info->n_test = s->has_test ? s->test.y.n : aside ? aside : info->n_train;
}

/* The rows of `from` whose mark is `mark` (all without marks). */
static bool copy_rows(const struct own_set *s, const struct data_args *args,
                      const struct own_part *from, const uint8_t *marks, uint8_t mark, int64_t n,
                      struct data_part *to, struct error *err)
{
    const size_t item = shape_count(s->shape) * (s->x_type == DATA_U8 ? 1 : 4);
    char *x = data_alloc((size_t)n, item, args->def, err);
    int32_t *label = NULL;
    float *value = NULL;
    to->x = x;
    if (s->is_classes)
        to->label = label = data_alloc((size_t)n, sizeof *label, args->def, err);
    else
        to->value = value = data_alloc((size_t)n, sizeof *value, args->def, err);
    if (!x || (!label && !value))
        return false;
    to->n = n;
    size_t at = 0;
    for (int64_t i = 0; i < from->y.n; i++) {
        if (marks && marks[i] != mark)
            continue;
        memcpy(x + at * item, (const char *)from->x + (size_t)i * item, item);
        if (label)
            label[at] = class_of(s, &from->y, i);
        else
            value[at] = (float)from->y.number[i];
        at++;
    }
    return true;
}

bool own_fill(const struct own_set *s, const struct data_args *args, struct dataset *d,
              struct error *err)
{
    const int64_t aside = set_aside(s, args), n = s->train.y.n;
    d->x_type = s->x_type;
    d->divisor = s->divisor;
    if (s->has_test)
        return copy_rows(s, args, &s->train, NULL, 0, n, &d->train, err) &&
               copy_rows(s, args, &s->test, NULL, 0, s->test.y.n, &d->test, err);
    uint8_t *marks = test_rows(s, aside);
    bool ok = copy_rows(s, args, &s->train, marks, 0, n - aside, &d->train, err) &&
              (aside == 0 || copy_rows(s, args, &s->train, marks, 1, aside, &d->test, err));
    free(marks);
    if (ok && aside == 0) {
        d->test_is_train = true;
        d->test = d->train;
    }
    return ok;
}

static void apply(struct own_part *part, size_t width, size_t j, double mean, double sd)
{
    float *x = part->x;
    for (size_t i = 0; i < (size_t)part->y.n; i++)
        x[i * width + j] = (float)(((double)x[i * width + j] - mean) / (sd + 1e-7));
}

void own_standardise(struct own_set *s, const struct data_args *args)
{
    const size_t width = shape_count(s->shape);
    const int64_t n = s->train.y.n, aside = set_aside(s, args);
    uint8_t *is_test = test_rows(s, aside);
    const float *x = s->train.x;
    const double n_train = (double)(n - aside);
    for (size_t j = 0; j < width; j++) {
        double sum = 0, squares = 0;
        for (int64_t i = 0; i < n; i++)
            sum += is_test[i] ? 0 : (double)x[(size_t)i * width + j];
        const double mean = sum / n_train;
        for (int64_t i = 0; i < n; i++) {
            const double d = is_test[i] ? 0 : (double)x[(size_t)i * width + j] - mean;
            squares += d * d;
        }
        const double sd = n_train > 1 ? sqrt(squares / (n_train - 1)) : 0;
        apply(&s->train, width, j, mean, sd);
        if (s->has_test)
            apply(&s->test, width, j, mean, sd);
    }
    free(is_test);
}

static void release_part(struct own_part *p)
{
    free(p->x);
    free(p->y.number);
    free(p->y.text);
}

void own_release(struct own_set *s)
{
    release_part(&s->train);
    release_part(&s->test);
    free(s->class_number);
    free(s->class_text);
    *s = (struct own_set){0};
}
