#include "data/cal_housing.h"

#include "base/file.h"
#include "base/text.h"
#include "data/loader.h"
#include "data/number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RAW_COLUMNS 9
/* The original has 2,071,484 bytes; five times that is another file. */
#define MAX_BYTES (10u << 20)
/* Far above any real number of the set, far below what would overflow in the moments. */
#define NUMBER_MAX 1e12

enum raw { LON, LAT, AGE, ROOMS, BEDROOMS, POPULATION, HOUSEHOLDS, INCOME, VALUE };

/* ---- parsing ----------------------------------------------------------------------------------
 */

static bool parse_line(const char *at, const char *end, const char *path, int64_t line,
                       double raw[RAW_COLUMNS], struct error *err)
{
    int n = 0;
    for (;; n++) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        const char *stop = comma ? comma : end;
        if (n < RAW_COLUMNS && !number_parse(at, stop, &raw[n])) {
            char field[FIELD_SHOWN];
            field_shown(at, stop, field);
            return error_set(err, ERROR_DATA, "%s:%lld: column %d, '%s', is not a number", path,
                             (long long)line, n + 1, field);
        }
        if (!comma)
            break;
        at = comma + 1;
    }
    if (n + 1 != RAW_COLUMNS)
        return error_set(err, ERROR_DATA, "%s:%lld: %d columns; %d are expected", path,
                         (long long)line, n + 1, RAW_COLUMNS);
    for (int i = 0; i < RAW_COLUMNS; i++)
        if (fabs(raw[i]) > NUMBER_MAX)
            return error_set(err, ERROR_DATA, "%s:%lld: column %d is %g, which is out of range",
                             path, (long long)line, i + 1, raw[i]);
    if (raw[HOUSEHOLDS] < 1)
        return error_set(err, ERROR_DATA,
                         "%s:%lld: column %d, households, is %g; at least 1 is "
                         "expected",
                         path, (long long)line, HOUSEHOLDS + 1, raw[HOUSEHOLDS]);
    return true;
}

static void derive(const double raw[RAW_COLUMNS], double feature[CAL_HOUSING_FEATURES],
                   double *target)
{
    const double households = raw[HOUSEHOLDS];
    feature[0] = raw[INCOME];
    feature[1] = raw[AGE];
    feature[2] = raw[ROOMS] / households;
    feature[3] = raw[BEDROOMS] / households;
    feature[4] = raw[POPULATION];
    feature[5] = raw[POPULATION] / households;
    feature[6] = raw[LAT];
    feature[7] = raw[LON];
    *target = raw[VALUE] / 100000.0;
}

static int64_t count_lines(const char *text, size_t len)
{
    int64_t n = len > 0 && text[len - 1] != '\n';
    for (size_t i = 0; i < len; i++)
        n += text[i] == '\n';
    return n;
}

bool cal_housing_parse(const char *text, size_t len, const char *path, struct cal_housing *out,
                       struct error *err)
{
    *out = (struct cal_housing){0};
    const int64_t n = count_lines(text, len);
    if (n < 2)
        return error_set(err, ERROR_DATA, "%s: %lld rows; at least 2 are needed", path,
                         (long long)n);
    if (n > CAL_HOUSING_MAX_ROWS)
        return error_set(err, ERROR_DATA,
                         "%s: %lld rows; at most %d are expected (the set has "
                         "20640)",
                         path, (long long)n, CAL_HOUSING_MAX_ROWS);
    out->feature = xmalloc((size_t)n * sizeof *out->feature);
    out->target = xmalloc((size_t)n * sizeof *out->target);
    const char *at = text, *const end = text + len;
    for (int64_t i = 0; i < n; i++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        double raw[RAW_COLUMNS] = {0};
        if (!parse_line(at, newline ? newline : end, path, i + 1, raw, err)) {
            cal_housing_release(out);
            return false;
        }
        derive(raw, out->feature[i], &out->target[i]);
        at = newline ? newline + 1 : end;
    }
    out->n = n;
    return true;
}

void cal_housing_release(struct cal_housing *h)
{
    free(h->feature);
    free(h->target);
    *h = (struct cal_housing){0};
}

/* ---- standardising ----------------------------------------------------------------------------
 */

void cal_housing_moments(const struct cal_housing *h, int j, double *mean, double *sd)
{
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < h->n; i++)
        sum += h->feature[i][j];
    *mean = sum / (double)h->n;
    for (int64_t i = 0; i < h->n; i++) {
        const double d = h->feature[i][j] - *mean;
        squares += d * d;
    }
    *sd = sqrt(squares / (double)(h->n - 1));
}

static void standardise(const struct cal_housing *h, float *x)
{
    for (int j = 0; j < CAL_HOUSING_FEATURES; j++) {
        double mean, sd;
        cal_housing_moments(h, j, &mean, &sd);
        for (int64_t i = 0; i < h->n; i++)
            x[i * CAL_HOUSING_FEATURES + j] = (float)((h->feature[i][j] - mean) / (sd + 1e-7));
    }
}

static bool fill_part(const struct data_def *def, const struct cal_housing *h,
                      struct data_part *part, struct error *err)
{
    float *x = data_alloc((size_t)h->n, CAL_HOUSING_FEATURES * sizeof *x, def, err);
    float *value = data_alloc((size_t)h->n, sizeof *value, def, err);
    part->x = x;
    part->value = value;
    if (!x || !value)
        return false;
    standardise(h, x);
    for (int64_t i = 0; i < h->n; i++)
        value[i] = (float)h->target[i];
    part->n = h->n;
    return true;
}

bool cal_housing_load(const struct data_args *args, const char *root, struct dataset *d,
                      struct error *err)
{
    char *path = path_join(root, args->def->layouts[0].file[0].path), *text = NULL, *used = NULL;
    size_t len = 0;
    struct cal_housing h = {0};
    const bool ok = file_read_maybe_gz(path, MAX_BYTES, &text, &len, &used, err) &&
                    cal_housing_parse(text, len, used, &h, err) &&
                    fill_part(args->def, &h, &d->train, err);
    if (ok)
        d->test = d->train;
    cal_housing_release(&h);
    free(text);
    free(used);
    free(path);
    return ok;
}
