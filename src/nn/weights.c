#include "nn/weights.h"

#include "nn/safetensors.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRACKED "num_batches_tracked"

/* ---- export -----------------------------------------------------------------------------------
 */

static void put_tensor(struct safetensors_writer *w, const struct param *p, const float *block)
{
    float *logical = xmalloc(p->count * sizeof *logical);
    param_to_logical(p, block + p->offset, logical);
    safetensors_put_f32(w, p->name, p->dims, p->rank, logical);
    free(logical);
}

bool weights_export(const struct graph *g, const float *params, const float *buffers,
                    int64_t batches, const struct weights_meta *meta, int n_meta, void **data,
                    size_t *len, struct error *err)
{
    struct safetensors_writer w;
    safetensors_writer_init(&w);
    safetensors_put_meta(&w, "format", "pt");
    for (int i = 0; i < n_meta; i++)
        safetensors_put_meta(&w, meta[i].key, meta[i].value);
    /* The widest type first: readers map tensors in place and want them aligned. */
    for (int32_t i = 0; i < g->n_nodes; i++) {
        char name[96];
        if (g->nodes[i].op != OP_BATCH_NORM)
            continue;
        snprintf(name, sizeof name, "%s." TRACKED, g->nodes[i].name);
        safetensors_put_i64(&w, name, NULL, 0, &batches);
    }
    for (int32_t i = 0; i < g->n_params; i++)
        put_tensor(&w, &g->params[i], params);
    for (int32_t i = 0; i < g->n_buffers; i++)
        put_tensor(&w, &g->buffers[i], buffers);
    const bool ok = safetensors_finish(&w, data, len, err);
    safetensors_writer_release(&w);
    return ok;
}

/* ---- import -----------------------------------------------------------------------------------
 */

void weights_report_init(struct weights_report *r)
{
    r->n_loaded = 0;
    text_list_init(&r->missing);
    text_list_init(&r->different);
    text_list_init(&r->unused);
}

void weights_report_release(struct weights_report *r)
{
    text_list_release(&r->missing);
    text_list_release(&r->different);
    text_list_release(&r->unused);
}

static float from_bits(uint32_t bits)
{
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static float from_f32(const unsigned char *at)
{
    float v;
    memcpy(&v, at, sizeof v);
    return v;
}

static float from_f64(const unsigned char *at)
{
    double v;
    memcpy(&v, at, sizeof v);
    return (float)v;
}

/* bfloat16 is the upper half of a float. */
static float from_bf16(const unsigned char *at)
{
    return from_bits((uint32_t)at[1] << 24 | (uint32_t)at[0] << 16);
}

static float from_f16(const unsigned char *at)
{
    const uint32_t half = (uint32_t)at[1] << 8 | at[0];
    const uint32_t sign = (half & 0x8000u) << 16, exponent = half >> 10 & 0x1Fu;
    const uint32_t fraction = half & 0x3FFu;
    if (exponent == 0x1F)
        return from_bits(sign | 0x7F800000u | fraction << 13);
    if (exponent == 0) /* zero and subnormal numbers: fraction / 2^24 */
        return (sign ? -1.0f : 1.0f) * ldexpf((float)fraction, -24);
    return from_bits(sign | (exponent + 112) << 23 | fraction << 13);
}

struct type {
    const char *dtype;
    size_t size;
    float (*read)(const unsigned char *at);
};

static const struct type types[] = {
    {"F32", 4, from_f32}, {"F64", 8, from_f64}, {"F16", 2, from_f16}, {"BF16", 2, from_bf16}};

static const struct type *find_type(const char *dtype)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i].dtype, dtype) == 0)
            return &types[i];
    return NULL;
}

/* The same values under another shape. */
static bool same_count(const struct param *p, const struct safetensor *t)
{
    const struct type *type = find_type(t->dtype);
    return type && t->size / type->size == p->count;
}

static bool fits(const struct param *p, const struct safetensor *t)
{
    if (t->rank != p->rank || !find_type(t->dtype))
        return false;
    for (int32_t i = 0; i < p->rank; i++)
        if (t->dims[i] != p->dims[i])
            return false;
    return true;
}

/* What each tensor of the network gets: NULL where nothing fits. */
struct match {
    const struct param *param;
    float *to;
    const struct safetensor *from;
};

static void match_one(struct match *m, const struct safetensors *st, const struct param *p,
                      float *block, struct weights_report *report)
{
    const struct safetensor *t = safetensors_find(st, p->name);
    *m = (struct match){.param = p, .to = block + p->offset};
    if (!t) {
        text_list_add(&report->missing, p->name);
    } else if (!fits(p, t)) {
        text_list_add(&report->different, p->name);
    } else {
        m->from = t;
        report->n_loaded++;
    }
}

static void load(const struct match *m)
{
    const struct type *type = find_type(m->from->dtype);
    const unsigned char *at = m->from->data;
    float *logical = xmalloc(m->param->count * sizeof *logical);
    for (size_t i = 0; i < m->param->count; i++, at += type->size)
        logical[i] = type->read(at);
    param_from_logical(m->param, logical, m->to);
    free(logical);
}

static bool ends_with(const char *s, const char *end)
{
    const size_t n = strlen(s), m = strlen(end);
    return n >= m && strcmp(s + n - m, end) == 0;
}

/* Names of the graph's tensors, sorted, to find those of the file that none of them is. */
static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void find_unused(const struct match *matches, int32_t n, const struct safetensors *st,
                        struct weights_report *report)
{
    const char **names = xcalloc((size_t)n + 1, sizeof *names);
    for (int32_t i = 0; i < n; i++)
        names[i] = matches[i].param->name;
    qsort(names, (size_t)n, sizeof *names, by_name);
    for (int32_t i = 0; i < st->n; i++) {
        const char *name = st->tensors[i].name;
        if (!ends_with(name, "." TRACKED) &&
            !bsearch(&name, names, (size_t)n, sizeof *names, by_name))
            text_list_add(&report->unused, name);
    }
    free(names);
}

static void name_first(struct text *t, const char *what, const struct text_list *list)
{
    if (list->n == 0)
        return;
    text_addf(t, "; %zu %s, first '%.80s'", list->n, what, list->items[0]);
}

static bool check_report(const struct weights_report *r, bool strict, struct error *err)
{
    const bool whole = r->missing.n == 0 && r->different.n == 0 && r->unused.n == 0;
    if (whole || (!strict && r->n_loaded > 0))
        return true;
    struct text t;
    text_init(&t);
    name_first(&t, "missing in the file", &r->missing);
    name_first(&t, "of another shape or type", &r->different);
    name_first(&t, "unknown to the network", &r->unused);
    error_set(err, ERROR_DATA, "the weights do not fit the network: %d of %zu tensors do%s",
              r->n_loaded, (size_t)r->n_loaded + r->missing.n + r->different.n, t.data);
    text_release(&t);
    return false;
}

bool weights_import(const struct graph *g, const void *data, size_t len, bool strict, float *params,
                    float *buffers, struct weights_report *report, struct error *err)
{
    struct safetensors st;
    if (!safetensors_parse(&st, data, len, err))
        return false;
    struct weights_report own;
    weights_report_init(&own);
    struct weights_report *r = report ? report : &own;
    const int32_t n = g->n_params + g->n_buffers;
    struct match *matches = xcalloc((size_t)n + 1, sizeof *matches);
    for (int32_t i = 0; i < g->n_params; i++)
        match_one(&matches[i], &st, &g->params[i], params, r);
    for (int32_t i = 0; i < g->n_buffers; i++)
        match_one(&matches[g->n_params + i], &st, &g->buffers[i], buffers, r);
    find_unused(matches, n, &st, r);
    const bool ok = check_report(r, strict, err);
    for (int32_t i = 0; ok && i < n; i++)
        if (matches[i].from)
            load(&matches[i]);
    free(matches);
    weights_report_release(&own);
    safetensors_release(&st);
    return ok;
}

/* ---- published weights ------------------------------------------------------------------------
 */

static bool starts_with(const char *s, const char *prefix)
{
    return strncmp(s, prefix, strlen(prefix)) == 0;
}

static bool is_fresh(const struct weights_published *published, const char *name)
{
    for (int i = 0; i < WEIGHTS_MAX_NAMES && published->fresh[i]; i++)
        if (starts_with(name, published->fresh[i]))
            return true;
    return false;
}

/* Under our name, or under the publisher's. */
static const struct safetensor *find_published(const struct safetensors *st,
                                               const struct weights_published *published,
                                               const struct param *p)
{
    const struct safetensor *t = safetensors_find(st, p->name);
    if (t && fits(p, t))
        return t;
    for (int i = 0; i < WEIGHTS_MAX_NAMES && published->alias[i].ours; i++) {
        if (!starts_with(p->name, published->alias[i].ours))
            continue;
        char name[160];
        snprintf(name, sizeof name, "%s%s", published->alias[i].theirs,
                 p->name + strlen(published->alias[i].ours));
        const struct safetensor *other = safetensors_find(st, name);
        if (other && same_count(p, other))
            return other;
    }
    return NULL;
}

static void match_published(struct match *m, const struct safetensors *st,
                            const struct weights_published *published, const struct param *p,
                            float *block, struct weights_report *report)
{
    *m = (struct match){.param = p, .to = block ? block + p->offset : NULL};
    if (is_fresh(published, p->name))
        return;
    m->from = find_published(st, published, p);
    if (m->from)
        report->n_loaded++;
    else
        text_list_add(safetensors_find(st, p->name) ? &report->different : &report->missing,
                      p->name);
}

bool weights_import_published(const struct graph *g, const void *data, size_t len,
                              const struct weights_published *published, float *params,
                              float *buffers, struct error *err)
{
    struct safetensors st;
    struct weights_report report;
    if (!safetensors_parse(&st, data, len, err))
        return false;
    weights_report_init(&report);
    const int32_t n = g->n_params + g->n_buffers;
    struct match *matches = xcalloc((size_t)n + 1, sizeof *matches);
    for (int32_t i = 0; i < g->n_params; i++)
        match_published(&matches[i], &st, published, &g->params[i], params, &report);
    for (int32_t i = 0; i < g->n_buffers; i++)
        match_published(&matches[g->n_params + i], &st, published, &g->buffers[i], buffers,
                        &report);
    const bool ok = check_report(&report, true, err);
    for (int32_t i = 0; ok && params && i < n; i++)
        if (matches[i].from)
            load(&matches[i]);
    free(matches);
    weights_report_release(&report);
    safetensors_release(&st);
    return ok;
}
