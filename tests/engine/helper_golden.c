#include "helper_golden.h"

#include "base/json.h"
#include "base/rng.h"
#include "base/text.h"
#include "nn/model.h"

#define SEED           7
#define ORDINAL_X      1000
#define ORDINAL_TARGET 1001

static double unit(uint32_t ordinal, size_t i)
{
    return (double)rng_unit(rng_u32_at(SEED, RNG_TEST, ordinal, 0, 0, (uint32_t)i));
}

static int64_t integer(const json_t *j, const char *key)
{
    const json_t *v = json_object_get(j, key);
    if (!json_is_integer(v))
        fail_msg("golden file without %s", key);
    return json_integer_value(v);
}

static double number(const json_t *j, const char *key)
{
    const json_t *v = json_object_get(j, key);
    if (!json_is_number(v))
        fail_msg("golden file without %s", key);
    return json_number_value(v);
}

static const char *string(const json_t *j, const char *key)
{
    const char *v = json_string_value(json_object_get(j, key));
    if (!v)
        fail_msg("golden file without %s", key);
    return v ? v : "";
}

/* ---- the network ---- */

/* The file's names of a model's arguments and ours; those without are its input's. */
static const struct {
    const char *theirs, *ours;
} arguments[] = {{"layers", "layers"},
                 {"d_model", "d_model"},
                 {"width", "d_model"},
                 {"heads", "heads"},
                 {"ff", "ff"},
                 {"vocab", "vocab"},
                 {"positions", "max_positions"},
                 {"divisor", "width_div"}};

static char *spec_of(const json_t *json)
{
    struct text t;
    text_init(&t);
    const char *model = string(json, "model");
    text_add(&t, model);
    const json_t *args = json_object_get(json, "arguments");
    char sign = '?';
    for (size_t i = 0; i < sizeof arguments / sizeof *arguments; i++) {
        /* The transformer's vocabulary is its outputs. */
        const bool outputs =
            strcmp(model, "transformer") == 0 && strcmp(arguments[i].theirs, "vocab") == 0;
        if (!json_object_get(args, arguments[i].theirs) || outputs)
            continue;
        text_addf(&t, "%c%s=%lld", sign, arguments[i].ours,
                  (long long)integer(args, arguments[i].theirs));
        sign = '&';
    }
    char *spec = xstrdup(t.data);
    text_release(&t);
    return spec;
}

static struct shape shape_of(const json_t *input)
{
    if (strcmp(string(input, "kind"), "values") != 0)
        return shape_vector((int32_t)integer(input, "length"));
    const json_t *dims = json_object_get(input, "shape");
    int32_t d[3] = {0};
    for (size_t i = 0; i < json_array_size(dims) && i < 3; i++)
        d[i] = (int32_t)json_integer_value(json_array_get(dims, i));
    return json_array_size(dims) == 3 ? shape_image(d[1], d[2], d[0]) : shape_vector(d[0]);
}

static void match_tensors(struct golden *f)
{
    const json_t *tensors = json_object_get(f->json, "tensors");
    const size_t n = json_array_size(tensors);
    assert_int_equal(n, f->g->n_params);
    assert_int_equal(integer(f->json, "parameters"), graph_parameter_count(f->g));
    f->param = xcalloc(n, sizeof *f->param);
    for (size_t i = 0; i < n; i++) {
        const json_t *t = json_array_get(tensors, i);
        const char *name = string(t, "name");
        int32_t p = 0;
        while (p < f->g->n_params && strcmp(f->g->params[p].name, name) != 0)
            p++;
        if (p == f->g->n_params)
            fail_msg("%s: the network has no tensor %s", f->name, name);
        const json_t *shape = json_object_get(t, "shape");
        assert_int_equal(json_array_size(shape), f->g->params[p].rank);
        for (int32_t d = 0; d < f->g->params[p].rank; d++)
            assert_int_equal(json_integer_value(json_array_get(shape, (size_t)d)),
                             f->g->params[p].dims[d]);
        f->param[i] = p;
    }
}

/* ---- inputs ---- */

/* Images are drawn in N,C,H,W order and stored as N,H,W,C. */
static void fill_values(struct golden *f, struct shape s)
{
    const size_t n = shape_count(s), h = (size_t)s.d[0], w = (size_t)s.d[1], c = (size_t)s.d[2];
    float *x = f->x = xcalloc(n * (size_t)f->rows, sizeof *x);
    for (size_t r = 0; r < (size_t)f->rows; r++)
        for (size_t i = 0; i < n; i++) {
            const size_t from = s.rank == 3 ? (i % c * h + i / c / w) * w + i / c % w : i;
            x[r * n + i] = (float)(2.0 * unit(ORDINAL_X, r * n + from) - 1.0);
        }
}

static void fill_tokens(struct golden *f, const json_t *input)
{
    const size_t length = (size_t)integer(input, "length");
    const double vocabulary = (double)integer(input, "vocabulary");
    const json_t *valid = json_object_get(input, "valid");
    int32_t *x = f->x = xcalloc(length * (size_t)f->rows, sizeof *x);
    for (size_t r = 0; r < (size_t)f->rows; r++)
        for (size_t i = 0; i < length; i++) {
            const double u = unit(ORDINAL_X, r * length + i);
            int32_t *id = &x[r * length + i];
            *id = valid ? 3 + (int32_t)(u * (vocabulary - 3)) : (int32_t)(u * vocabulary);
            if (valid && i == 0)
                *id = 0;
            if (valid && (json_int_t)i >= json_integer_value(json_array_get(valid, r)))
                *id = (int32_t)integer(input, "padding_id");
        }
}

static void check_first(const struct golden *f, struct shape s)
{
    const json_t *first = json_object_get(f->json, "x_first");
    for (size_t i = 0; i < json_array_size(first); i++) {
        const size_t at = s.rank == 3 ? i * (size_t)s.d[2] : i;
        const double x = f->source.type == SOURCE_I32 ? (double)((const int32_t *)f->x)[at]
                                                      : (double)((const float *)f->x)[at];
        if (fabs(x - json_number_value(json_array_get(first, i))) > 1e-9)
            fail_msg("%s: input %zu is %.9g", f->name, i, x);
    }
}

static void fill_targets(struct golden *f, int n_outputs, size_t count)
{
    f->label = xcalloc((size_t)f->rows * count, sizeof *f->label);
    f->value = xcalloc((size_t)f->rows, sizeof *f->value);
    for (size_t i = 0; i < (size_t)f->rows * count; i++)
        f->label[i] = (int32_t)(unit(ORDINAL_TARGET, i) * n_outputs);
    for (size_t i = 0; i < (size_t)f->rows; i++)
        f->value[i] = (float)(2.0 * unit(ORDINAL_TARGET, i) - 1.0);
}

void golden_open(struct golden *f, const char *name)
{
    struct error err = ERROR_INIT;
    *f = (struct golden){.name = name};
    const char *root = getenv("FUGUE_TEST_SOURCE");
    char *path = xasprintf("%s/tests/golden/nets/%s.json", root ? root : ".", name);
    f->json = json_read_file(path, &err);
    if (!f->json)
        fail_msg("%s", err.text);
    free(path);
    const json_t *input = json_object_get(f->json, "input");
    const bool tokens = strcmp(string(input, "kind"), "values") != 0;
    const bool mse = strcmp(string(f->json, "loss_function"), "mse") == 0;
    const int n_outputs = (int)integer(f->json, "outputs");
    const struct shape in = shape_of(input);
    char *spec = spec_of(f->json);
    f->g = model_build(spec, in, n_outputs, &err);
    if (!f->g)
        fail_msg("%s", err.text);
    free(spec);
    for (int32_t i = 0; i < f->g->n_nodes; i++)
        f->g->nodes[i].attr.p = 0.0f;
    f->rows = integer(f->json, "batch");
    f->lr = number(json_object_get(f->json, "optimiser"), "lr");
    const bool lm = f->g->nodes[f->g->output].out.rank == 2;
    f->task = mse ? "regression" : lm ? "language_modeling" : "classification";
    match_tensors(f);
    if (tokens)
        fill_tokens(f, input);
    else
        fill_values(f, in);
    fill_targets(f, n_outputs, lm ? (size_t)in.d[0] : 1);
    f->source = (struct source){.type = tokens ? SOURCE_I32 : SOURCE_F32,
                                .x = f->x,
                                .sample_count = shape_count(in),
                                .shape = in,
                                .divisor = 1.0f,
                                .label = mse ? NULL : f->label,
                                .label_count = lm ? in.d[0] : 0,
                                .value = mse ? f->value : NULL};
    check_first(f, in);
}

void golden_close(struct golden *f)
{
    json_decref(f->json);
    free(f->x);
    free(f->label);
    free(f->value);
    free(f->param);
}

/* ---- weights ---- */

static bool ends_with(const char *text, const char *end)
{
    const size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

/* Centre and half width of a tensor's uniform values. */
static void rule_of(const struct golden *f, const struct param *p, double *centre, double *scale)
{
    *centre = 0;
    *scale = 0.1;
    bool norm = false;
    for (int32_t i = 0; i < f->g->n_nodes; i++) {
        const struct node *n = &f->g->nodes[i];
        for (int32_t j = 0; j < n->n_params; j++)
            norm |= &f->g->params[n->param[j]] == p &&
                    (n->op == OP_BATCH_NORM || n->op == OP_LAYER_NORM);
    }
    double fan_in = 1;
    for (int32_t d = 1; d < p->rank; d++)
        fan_in *= p->dims[d];
    if (p->rank >= 2)
        *scale = number(f->json, "gain") / sqrt(fan_in);
    else if (norm)
        *centre = ends_with(p->name, ".weight") ? 1.0 : number(f->json, "norm_bias");
}

static void set(struct block b, size_t i, double v)
{
    if (b.d)
        b.d[i] = v;
    else
        b.f[i] = (float)v;
}

static double get(struct block b, size_t i)
{
    return b.d ? b.d[i] : (double)b.f[i];
}

void golden_fill(const struct golden *f, struct block params, struct block buffers)
{
    for (int32_t t = 0; t < f->g->n_params; t++) {
        const struct param *p = &f->g->params[f->param[t]];
        double centre, scale;
        rule_of(f, p, &centre, &scale);
        for (size_t i = 0; i < p->count; i += 4) {
            const struct rng_block w =
                rng_block_at(SEED, RNG_TEST, (uint32_t)t, 0, 0, (uint32_t)(i / 4));
            for (size_t j = i; j < i + 4 && j < p->count; j++)
                set(params, p->offset + param_memory_index(p, j),
                    centre + (2.0 * (double)rng_unit(w.v[j % 4]) - 1.0) * scale);
        }
    }
    for (int32_t i = 0; i < f->g->n_buffers; i++) {
        const struct param *p = &f->g->buffers[i];
        for (size_t j = 0; j < p->count; j++)
            set(buffers, p->offset + j, ends_with(p->name, "_var") ? 1 : 0);
    }
}

/* ---- comparing ---- */

/* Sample j of a summary: six digits of base 64. */
static double sample(const json_t *summary, size_t j)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *text = json_string_value(json_array_get(summary, 3)) + 6 * j;
    int64_t q = 0;
    for (int i = 0; i < 6; i++)
        q = q * 64 + (strchr(digits, text[i]) - digits);
    const int exponent = (int)json_integer_value(json_array_get(summary, 2));
    return ldexp((double)(q - (INT64_C(1) << 35)), exponent - 35);
}

struct tensor {
    const struct param *param; /* NULL: values in order */
    struct block block;
    size_t offset, count;
};

static double value_at(const struct tensor *t, size_t i)
{
    return get(t->block, t->offset + (t->param ? param_memory_index(t->param, i) : i));
}

/* The larger of the differences of samples and of norms, over their scale. */
static double distance(const struct tensor *t, const json_t *summary, const json_t *index,
                       size_t samples, double floor)
{
    const size_t n = index ? json_array_size(index) : t->count <= samples ? t->count : samples;
    const char *text = json_string_value(json_array_get(summary, 3));
    assert_non_null(text);
    assert_int_equal(strlen(text), 6 * n);
    double diff = 0, scale = 0, norm = 0;
    for (size_t j = 0; j < n; j++) {
        const size_t at = index ? (size_t)json_integer_value(json_array_get(index, j))
                          : t->count <= samples ? j
                                                : j * (t->count - 1) / (samples - 1);
        assert_true(at < t->count);
        const double b = sample(summary, j), d = value_at(t, at) - b;
        diff += d * d;
        scale += b * b;
    }
    for (size_t i = 0; i < t->count; i++) {
        const double v = get(t->block, t->offset + i);
        norm += v * v;
    }
    const double wanted = json_number_value(json_array_get(summary, 0));
    const double by_samples = sqrt(diff) / fmax(fmax(sqrt(scale), floor), 1e-300);
    const double by_norm = fabs(sqrt(norm) - wanted) / fmax(fmax(wanted, floor), 1e-300);
    /* Not a number must not pass. */
    return by_samples >= by_norm || !(by_norm >= 0) ? by_samples + 0 * by_norm : by_norm;
}

static void hold(const struct golden *f, const char *what, const char *name, double found,
                 double tolerance, double *worst)
{
    if (!(found <= tolerance))
        fail_msg("%s: %s of %s is off by %.3g, allowed is %.3g", f->name, what, name, found,
                 tolerance);
    *worst = fmax(*worst, found);
}

static void check_tensors(struct golden *f, const char *key, struct block block, double floor,
                          double tolerance, double *worst)
{
    const json_t *tensors = json_object_get(f->json, "tensors");
    const size_t samples = (size_t)integer(f->json, "samples");
    for (size_t i = 0; i < json_array_size(tensors); i++) {
        const json_t *t = json_array_get(tensors, i);
        const struct param *p = &f->g->params[f->param[i]];
        const struct tensor tensor = {p, block, p->offset, p->count};
        hold(
            f, key, p->name,
            distance(&tensor, json_object_get(t, key), json_object_get(t, "index"), samples, floor),
            tolerance, worst);
    }
}

void golden_check_gradients(struct golden *f, struct block block, double tolerance)
{
    check_tensors(f, "gradient", block, 1e-3 * number(f->json, "all_gradients_norm"), tolerance,
                  &f->worst_gradient);
}

void golden_check_weights(struct golden *f, struct block block, double tolerance)
{
    check_tensors(f, "weight", block, 0, tolerance, &f->worst_weight);
}

void golden_check_running(struct golden *f, struct block block, double tolerance)
{
    const json_t *list = json_object_get(f->json, "running_after");
    assert_int_equal(json_array_size(list), f->g->n_buffers);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *want = json_array_get(list, i);
        const struct param *p = &f->g->buffers[i];
        assert_string_equal(string(want, "name"), p->name);
        const struct tensor t = {NULL, block, p->offset, p->count};
        hold(f, "running statistics", p->name,
             distance(&t, json_object_get(want, "summary"), NULL,
                      (size_t)integer(f->json, "running_samples"), 0),
             tolerance, &f->worst_running);
    }
}

void golden_check_logits(struct golden *f, const char *key, struct block logits, size_t n,
                         double tolerance)
{
    size_t count = 1;
    const json_t *shape = json_object_get(f->json, "logits_shape");
    for (size_t i = 0; i < json_array_size(shape); i++)
        count *= (size_t)json_integer_value(json_array_get(shape, i));
    assert_int_equal(n, count);
    const struct tensor t = {NULL, logits, 0, n};
    hold(f, key, "the batch",
         distance(&t, json_object_get(f->json, key), NULL, (size_t)integer(f->json, "samples"), 0),
         tolerance, &f->worst_logits);
}

void golden_check_loss(struct golden *f, int step, double loss, double tolerance)
{
    const double want =
        json_number_value(json_array_get(json_object_get(f->json, "losses"), (size_t)step));
    char name[24];
    snprintf(name, sizeof name, "step %d", step + 1);
    hold(f, "loss", name, fabs(loss - want) / fabs(want), tolerance, &f->worst_loss);
}

void golden_print_worst(const struct golden *f, const char *what)
{
    printf("%-20s %-9s largest differences: loss %.1e, logits %.1e, gradient %.1e, weight %.1e, "
           "running %.1e\n",
           f->name, what, f->worst_loss, f->worst_logits, f->worst_gradient, f->worst_weight,
           f->worst_running);
}
