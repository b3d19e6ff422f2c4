#include "helper_check.h"

/* What the gradients are gradients of: sum(y dy), or the mean loss. */
static double objective(const struct op_case *c, const double *buffer[2], struct op_values *v)
{
    for (int p = 0; p < 2; p++)
        memcpy(v->buffer[p], buffer[p], v->n_buffer[p] * sizeof(double));
    case_run(c, NULL, v);
    if (op_infos[c->op].is_loss)
        return v->sums.loss_sum / c->n_valid / (c->in.rank == 2 ? c->in.d[0] : 1);
    const size_t valid = v->n_y / (size_t)c->batch * (size_t)c->n_valid;
    double sum = 0;
    for (size_t i = 0; i < valid; i++)
        sum += v->y[i] * v->dy[i];
    return sum;
}

/* Rows of tables that are padding take no gradient, whatever the slope. */
static bool is_padding(const struct op_case *c, bool table, size_t i)
{
    const bool padded =
        c->op == OP_EMBEDDING || (c->op == OP_POSITIONS && c->attr.position == POSITION_OF_TOKENS);
    const size_t d = (size_t)(c->op == OP_EMBEDDING ? c->attr.out_features : c->in.d[1]);
    return table && padded && c->attr.pad_id >= 0 && i / d == (size_t)c->attr.pad_id;
}

/* Central differences of a dozen elements spread over `n`. */
static void check_slope(const struct op_case *c, const double *buffer[2], struct op_values *v,
                        double *element, const double *gradient, size_t n, const char *what)
{
    const double h = 1e-5;
    const size_t stride = n > 12 ? n / 12 : 1;
    char message[400];
    struct op_case forward = *c;
    forward.forward_only = true;
    for (size_t i = 0; i < n; i += stride) {
        if (is_padding(c, element == v->param[0], i))
            continue;
        const double old = element[i];
        element[i] = old + h;
        const double above = objective(&forward, buffer, v);
        element[i] = old - h;
        const double below = objective(&forward, buffer, v);
        element[i] = old;
        const double slope = (above - below) / (2 * h);
        if (fabs(slope - gradient[i]) > 1e-6 * (1 + fabs(slope))) {
            snprintf(message, sizeof message, "%s: gradient of %s[%zu] %.9g, differences say %.9g",
                     case_name(c), what, i, gradient[i], slope);
            fail_msg("%s", message);
        }
    }
}

static double *copy_of(const double *v, size_t n)
{
    double *copy = malloc((n + 1) * sizeof *copy);
    memcpy(copy, v, n * sizeof *v);
    return copy;
}

static void take_away(double *v, size_t n, double start)
{
    for (size_t i = 0; i < n; i++)
        v[i] -= start;
}

/* Shards whose gradient of parameter p started at 0.25. */
static int added(const struct op_case *c, int p)
{
    return c->by_parts && p == 0 ? 1 : (c->n_valid + c->rows_per_shard - 1) / c->rows_per_shard;
}

static void check_more(const struct op_case *c, const double *buffer[2], struct op_values *v)
{
    for (int i = 0; i < OP_MAX_INPUTS - 1; i++) {
        const size_t valid = v->n_more[i] / (size_t)c->batch * (size_t)c->n_valid;
        int n_in = 1;
        while (n_in < OP_MAX_INPUTS && c->more[n_in - 1].rank > 0)
            n_in++;
        if (valid == 0 || op_reads_tokens(c->op, &c->attr, n_in, i + 1))
            continue;
        objective(c, buffer, v);
        double *dx = copy_of(v->more_dx[i], valid);
        take_away(dx, valid, c->add_dx ? 0.5 : 0);
        check_slope(c, buffer, v, v->more_x[i], dx, valid, "a further input");
        free(dx);
    }
}

void check_differences(const struct op_case *c)
{
    struct op_values v;
    values_init(&v, c);
    double *start[2] = {copy_of(v.buffer[0], v.n_buffer[0]), copy_of(v.buffer[1], v.n_buffer[1])};
    const double *buffer[2] = {start[0], start[1]};
    objective(c, buffer, &v);
    double *dx = copy_of(v.dx, v.n_x);
    double *grad[2] = {copy_of(v.grad[0], v.n_param[0]), copy_of(v.grad[1], v.n_param[1])};
    const size_t valid = v.n_x / (size_t)c->batch * (size_t)c->n_valid;
    take_away(dx, valid, c->add_dx ? 0.5 : 0);
    for (int p = 0; p < 2; p++)
        take_away(grad[p], v.n_param[p], c->add_grad ? 0.25 * added(c, p) : 0);
    if (!op_reads_tokens(c->op, &c->attr, 1, 0))
        check_slope(c, buffer, &v, v.x, dx, valid, "x");
    check_more(c, buffer, &v);
    check_slope(c, buffer, &v, v.param[0], grad[0], v.n_param[0], "weight");
    check_slope(c, buffer, &v, v.param[1], grad[1], v.n_param[1], "bias");
    for (int p = 0; p < 2; p++) {
        free(start[p]);
        free(grad[p]);
    }
    free(dx);
    values_release(&v);
}

static void check_untouched(const struct op_case *c, const struct op_values *v)
{
    const size_t y = v->n_y / (size_t)c->batch, x = v->n_x / (size_t)c->batch;
    for (size_t i = (size_t)c->n_valid * y; i < v->n_y && !op_infos[c->op].is_loss; i++)
        assert_true(v->y[i] == UNTOUCHED);
    for (size_t i = (size_t)c->n_valid * x; i < v->n_x; i++)
        assert_true(v->dx[i] == (c->add_dx ? 0.5 : UNTOUCHED));
    for (int m = 0; m < OP_MAX_INPUTS - 1; m++)
        for (size_t i = v->n_more[m] / (size_t)c->batch * (size_t)c->n_valid; i < v->n_more[m]; i++)
            assert_true(v->more_dx[m][i] == (c->add_dx ? 0.5 : UNTOUCHED));
}

static void check_kernels_of(const struct cpu_isa *isa, const struct op_case *c,
                             const struct op_values *expected, double tolerance)
{
    struct op_values got;
    char what[300];
    values_init(&got, c);
    case_run(c, isa, &got);
    snprintf(what, sizeof what, "%s %s", isa->name, case_name(c));
    assert_values_close(&got, expected, tolerance, what);
    check_untouched(c, &got);
    values_release(&got);
}

void check_kernels(const struct op_case *cases, size_t n, double tolerance)
{
    for (size_t i = 0; i < n; i++) {
        struct op_values expected;
        values_init(&expected, &cases[i]);
        case_run(&cases[i], NULL, &expected);
        check_kernels_of(&cpu_isa_reference, &cases[i], &expected, tolerance);
        for (int s = 0; cpu_isas[s]; s++)
            if (cpu_isas[s]->usable())
                check_kernels_of(cpu_isas[s], &cases[i], &expected, tolerance);
        values_release(&expected);
    }
    for (int s = 0; cpu_isas[s]; s++)
        if (!cpu_isas[s]->usable())
            print_message("%s: not on this machine\n", cpu_isas[s]->name);
}
