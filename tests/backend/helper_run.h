/* case_run for one element type: REAL, CALL, KERNEL, RUN_CASE and FIND are given. */

struct STATE {
    REAL *x, *y, *dy, *dx, *param[2], *grads[2], *buffer[2], *partial, *back_partial, *whole[2];
    REAL *more_x[OP_MAX_INPUTS - 1], *more_dx[OP_MAX_INPUTS - 1];
    REAL *scratch;
    int32_t *saved;
    int32_t n_shards;
    size_t partial_stride;
};

static REAL *COPY(const double *from, size_t n)
{
    REAL *to = malloc((n + 1) * sizeof *to);
    for (size_t i = 0; i < n; i++)
        to[i] = (REAL)from[i];
    return to;
}

static REAL *FILLED(REAL value, size_t n)
{
    REAL *to = malloc((n + 1) * sizeof *to);
    for (size_t i = 0; i < n; i++)
        to[i] = value;
    return to;
}

/* The call of rows [first, first + rows), as shard `shard`. */
static struct CALL SHARD_CALL(const struct op_case *c, const struct plan_step *step,
                              const struct op_values *v, const struct STATE *s, int32_t shard,
                              int32_t first, int32_t rows) {
    const size_t in = shape_count(step->in[0]), out = shape_count(step->out);
    const size_t places = c->in.rank == 2 ? (size_t)c->in.d[0] : 1;
    struct CALL call = {
        .step = step,
        .rows = rows,
        .first_row = first,
        .n_valid = c->n_valid,
        .shard = shard,
        .rows_per_shard = c->rows_per_shard,
        .training = !c->evaluation,
        .seed = c->seed,
        .epoch = 2,
        .batch = 3,
        .x = s->x + (size_t)first * in,
        .y = s->y + (size_t)first * out,
        .dy = s->dy + (size_t)first * out,
        .dx = c->evaluation ? NULL : s->dx + (size_t)first * in,
        .add_dx = c->add_dx,
        .add_more_dx = c->add_dx ? 7 : 0,
        .saved = c->evaluation ? NULL : s->saved + (size_t)first * out,
        .target = v->label ? (void *)(v->label + (size_t)first * places)
                           : (void *)(v->value + (size_t)first * places),
        .partial_stride = s->partial_stride,
        .whole = {s->whole[0] + (size_t)shard * s->partial_stride,
                  s->whole[1] + (size_t)shard * s->partial_stride},
        .add_grad = c->add_grad ? 3 : 0,
        .scratch = s->scratch,
    };
    if (is_tokens(c, 0)) {
        call.x = (const REAL *)(const void *)(v->tokens + (size_t)first * in);
        call.dx = NULL;
    }
    for (int i = 1; i < OP_MAX_INPUTS && step->in[i].rank > 0; i++) {
        const size_t at = (size_t)first * shape_count(step->in[i]);
        const bool tokens = is_tokens(c, i);
        call.more_x[i - 1] =
            tokens ? (const REAL *)(const void *)(v->tokens + at) : s->more_x[i - 1] + at;
        call.more_dx[i - 1] = tokens || c->evaluation ? NULL : s->more_dx[i - 1] + at;
    }
    for (int p = 0; p < 2; p++) {
        call.param[p] = v->n_param[p] ? s->param[p] : NULL;
        call.grad[p] = v->n_param[p] ? s->grads[p] + (size_t)shard * v->n_param[p] : NULL;
        call.buffer[p] = v->n_buffer[p] ? s->buffer[p] : NULL;
    }
    return call;
}

/* One kernel over all shards that have rows. */
static void
STEP(const struct op_case *c, const struct plan_step *step, const struct op_values *v,
     struct STATE *s, enum step_kind kind)
{
    const struct KERNEL *k = FIND(kind, c->op);
    assert_non_null(k);
    for (int32_t i = 0; i * c->rows_per_shard < c->n_valid; i++) {
        const int32_t first = i * c->rows_per_shard, left = c->n_valid - first;
        struct CALL call = SHARD_CALL(c, step, v, s, i, first,
                                      left < c->rows_per_shard ? left : c->rows_per_shard);
        call.relu = c->relu && k->fuses_relu;
        call.partial = kind == STEP_BN_BACK_REDUCE || kind == STEP_BN_BACK_APPLY ? s->back_partial
                                                                                 : s->partial;
        if (c->by_parts)
            call.grad[0] = NULL;
        k->run(&call);
    }
}

/* The weight's gradient of the whole batch into shard 0's, parts in any order; other shards' are
 * zeroed. */
static void PARTS(const struct op_case *c, const struct plan_step *step, const struct op_values *v,
                  struct STATE *s)
{
    const struct KERNEL *k = FIND(STEP_BACKWARD_PARAMS, c->op);
    assert_non_null(k);
    struct CALL call = SHARD_CALL(c, step, v, s, 0, 0, c->n_valid);
    call.rows_per_shard = c->batch;
    call.grad[1] = NULL;
    call.parts = PLAN_PARTS;
    for (int part = 0; part < PLAN_PARTS; part++) {
        call.part = (5 * part + 3) % PLAN_PARTS;
        k->run(&call);
    }
    for (size_t i = v->n_param[0]; i < (size_t)s->n_shards * v->n_param[0]; i++)
        s->grads[0][i] = 0;
}

static size_t SCRATCH(const struct op_case *c, const struct plan_step *step)
{
    size_t most = 0;
    for (int kind = 0; kind <= STEP_UPDATE; kind++) {
        const struct KERNEL *k = FIND((enum step_kind)kind, c->op);
        const int32_t rows = kind == STEP_BACKWARD_PARAMS ? c->batch : c->rows_per_shard;
        const size_t n = k && k->scratch ? k->scratch(step, rows) : 0;
        most = n > most ? n : most;
    }
    return most;
}

static void STEPS(const struct op_case *c, const struct plan_step *step, const struct op_values *v,
                  struct STATE *s)
{
    if (op_infos[c->op].is_loss) {
        STEP(c, step, v, s, STEP_LOSS);
        return;
    }
    if (c->op == OP_BATCH_NORM) {
        if (!c->evaluation)
            STEP(c, step, v, s, STEP_BN_STATS);
        STEP(c, step, v, s, STEP_BN_APPLY);
        if (c->evaluation || c->forward_only)
            return;
        STEP(c, step, v, s, STEP_BN_BACK_REDUCE);
        STEP(c, step, v, s, STEP_BN_BACK_APPLY);
        return;
    }
    STEP(c, step, v, s, STEP_FORWARD);
    if (c->evaluation || c->forward_only)
        return;
    STEP(c, step, v, s, STEP_BACKWARD);
    if (c->by_parts)
        PARTS(c, step, v, s);
}

static void TAKE(const struct op_case *c, struct op_values *v, struct STATE *s)
{
    for (size_t i = 0; i < v->n_y; i++)
        v->y[i] = (double)s->y[i];
    for (size_t i = 0; i < v->n_x; i++)
        v->dx[i] = (double)s->dx[i];
    for (int m = 0; m < OP_MAX_INPUTS - 1; m++)
        for (size_t i = 0; i < v->n_more[m]; i++)
            v->more_dx[m][i] = (double)s->more_dx[m][i];
    for (int p = 0; p < 2; p++) {
        for (size_t i = 0; i < v->n_buffer[p]; i++)
            v->buffer[p][i] = (double)s->buffer[p][i];
        for (size_t i = 0; i < v->n_param[p]; i++) {
            v->grad[p][i] = 0;
            for (int32_t n = 0; n < s->n_shards; n++)
                v->grad[p][i] += (double)s->grads[p][(size_t)n * v->n_param[p] + i];
        }
    }
    v->sums = (struct pass_sums){0};
    for (int32_t n = 0; n < s->n_shards && op_infos[c->op].is_loss; n++) {
        struct pass_sums part;
        memcpy(&part, s->partial + (size_t)n * s->partial_stride, sizeof part);
        v->sums.n += part.n;
        v->sums.loss_sum += part.loss_sum;
        v->sums.n_correct += part.n_correct;
        v->sums.n_tokens += part.n_tokens;
        v->sums.target_sum += part.target_sum;
        v->sums.target_sq_sum += part.target_sq_sum;
    }
}

static void RUN_CASE(const struct op_case *c, struct op_values *v)
{
    const struct plan_step step = case_step(c);
    const int32_t channels = c->in.d[c->in.rank - 1];
    const REAL untouched = (REAL)(c->add_dx ? 0.5 : UNTOUCHED);
    struct STATE s = {.n_shards = (c->n_valid + c->rows_per_shard - 1) / c->rows_per_shard,
                      .partial_stride = 2 * (size_t)channels + PLAN_SUMS_FLOATS};
    const size_t parts = (size_t)s.n_shards * s.partial_stride;
    s.x = COPY(v->x, v->n_x);
    s.dy = COPY(v->dy, v->n_y);
    s.y = FILLED((REAL)UNTOUCHED, v->n_y);
    s.dx = FILLED(untouched, v->n_x);
    for (int i = 0; i < OP_MAX_INPUTS - 1; i++) {
        s.more_x[i] = COPY(v->more_x[i], v->n_more[i]);
        s.more_dx[i] = FILLED(untouched, v->n_more[i]);
    }
    s.partial = FILLED(0, parts);
    s.back_partial = FILLED(0, parts);
    s.saved = calloc(v->n_y + 1, sizeof *s.saved);
    const size_t scratch = SCRATCH(c, &step);
    s.scratch = FILLED((REAL)NAN, scratch); /* whatever was there before must not matter */
    for (int p = 0; p < 2; p++) {
        s.whole[p] = FILLED(0, parts);
        s.param[p] = COPY(v->param[p], v->n_param[p]);
        s.buffer[p] = COPY(v->buffer[p], v->n_buffer[p]);
        s.grads[p] =
            FILLED((REAL)(c->add_grad ? 0.25 : (double)NAN), (size_t)s.n_shards * v->n_param[p]);
    }
    STEPS(c, &step, v, &s);
    if (c->evaluation)
        for (int p = 0; p < 2; p++)
            memset(s.grads[p], 0, (size_t)s.n_shards * v->n_param[p] * sizeof(REAL));
    TAKE(c, v, &s);
    for (int p = 0; p < 2; p++) {
        free(s.whole[p]);
        free(s.param[p]);
        free(s.buffer[p]);
        free(s.grads[p]);
    }
    for (int i = 0; i < OP_MAX_INPUTS - 1; i++) {
        free(s.more_x[i]);
        free(s.more_dx[i]);
    }
    free(s.scratch);
    free(s.saved);
    free(s.back_partial);
    free(s.partial);
    free(s.dx);
    free(s.y);
    free(s.dy);
    free(s.x);
}
