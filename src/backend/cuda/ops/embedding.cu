/* Tables: embeddings and positions.  The gradient of a table: each place of the batch looks whether
 * it is the first to hold its row, and if so adds up all that hold it, in order. */
#include "backend/cuda/ops/common.cuh"

struct table {
    struct lanes l;
    int length, d, rows, pad_id; /* places of a row of the batch; of the table */
    enum position_kind position;
    float scale;
    size_t ids_stride; /* of ids, floats from model to model */
};

static __global__ void embed(struct table t, const int32_t *ids, const float *weight, float *y)
{
    const int k = blockIdx.y;
    const size_t n = (size_t)t.l.model[k].n_valid * t.length * t.d;
    ids = part(ids, t.l.lane, k);
    weight = part(weight, t.l.slice, k);
    y = part(y, t.l.lane, k);
    FOR_ELEMENTS(e, n)
    {
        const int32_t id = ids[e / t.d];
        y[e] = id >= 0 && id < t.rows ? t.scale * weight[(size_t)id * t.d + e % t.d] : NAN;
    }
}

/* Row of the table at place `at` of the batch, whose tokens are `ids`. */
static __device__ int position_row(const struct table &t, const int32_t *ids, size_t at)
{
    const int place = (int)(at % t.length);
    if (t.position != POSITION_OF_TOKENS)
        return t.position == POSITION_INDEX ? place : 0;
    if (ids[at] == t.pad_id)
        return t.pad_id;
    int count = 0;
    for (size_t i = at - place; i <= at; i++)
        count += ids[i] != t.pad_id;
    return t.pad_id + count;
}

/* A warp a place. */
static __global__ void add_positions(struct table t, const float *x, const int32_t *ids,
                                     const float *weight, float *y)
{
    const int k = blockIdx.y, lane = threadIdx.x % 32;
    const size_t n = (size_t)t.l.model[k].n_valid * t.length;
    const size_t warps = (size_t)gridDim.x * (blockDim.x / 32);
    x = part(x, t.l.lane, k);
    y = part(y, t.l.lane, k);
    ids = part(ids, t.l.lane, k);
    weight = part(weight, t.l.slice, k);
    for (size_t v = (size_t)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32; v < n; v += warps) {
        const float *row = weight + (size_t)position_row(t, ids, v) * t.d;
        for (int i = lane; i < t.d; i += 32)
            y[v * t.d + i] = x[v * t.d + i] + row[i];
    }
}

/* The rows of all places, -1 where a place gives no gradient. */
static __global__ void list_rows(struct table t, bool positions, const int32_t *ids, int32_t *rows)
{
    const int k = blockIdx.y;
    const size_t n = (size_t)t.l.model[k].n_valid * t.length;
    ids = part(ids, t.l.lane, k);
    rows += k * t.ids_stride;
    FOR_ELEMENTS(v, n)
    {
        int row = positions ? position_row(t, ids, v) : ids[v];
        const bool pads = !positions || t.position == POSITION_OF_TOKENS;
        if (row < 0 || row >= t.rows || (pads && row == t.pad_id))
            row = -1;
        rows[v] = row;
    }
}

static __global__ void zero_table(struct lanes l, float *grad, size_t n)
{
    const int k = blockIdx.y;
    if (l.model[k].n_valid == 0)
        return;
    grad = part(grad, l.lane, k);
    FOR_ELEMENTS(i, n)
    grad[i] = 0;
}

/* Block (place, k). */
static __global__ void table_gradient(struct table t, const int32_t *rows, const float *dy,
                                      float *grad)
{
    const int k = blockIdx.y, v = blockIdx.x;
    const int n = t.l.model[k].n_valid * t.length;
    rows += k * t.ids_stride;
    if (v >= n || rows[v] < 0)
        return;
    const int row = rows[v];
    int earlier = 0;
    for (int i = threadIdx.x; i < v && !earlier; i += blockDim.x)
        earlier = rows[i] == row;
    if (__syncthreads_or(earlier))
        return;
    dy = part(dy, t.l.lane, k);
    grad = part(grad, t.l.lane, k) + (size_t)row * t.d;
    for (int i = threadIdx.x; i < t.d; i += blockDim.x) {
        float sum = grad[i];
        for (int j = v; j < n; j++)
            if (rows[j] == row)
                sum += t.scale * dy[(size_t)j * t.d + i];
        grad[i] = sum;
    }
}

static struct table table_of(const struct cuda_call *c)
{
    const struct op_attr *a = &c->step->attr;
    struct table t = {lanes_of(c)};
    t.length = c->step->out.rank == 2 ? c->step->out.d[0] : 1;
    t.d = last_of(c->step->out);
    t.rows = a->rows;
    t.pad_id = a->pad_id;
    t.position = (enum position_kind)a->position;
    t.scale = c->step->op == OP_EMBEDDING ? (float)a->scale : 1;
    t.ids_stride = c->workspace_floats;
    return t;
}

static void launch_table_gradient(const struct cuda_call *c)
{
    const struct table t = table_of(c);
    const bool positions = c->step->op == OP_POSITIONS;
    const int32_t *ids = (const int32_t *)c->x[positions ? 1 : 0];
    int32_t *rows = (int32_t *)c->workspace;
    const size_t places = (size_t)c->batch * t.length, all = (size_t)t.rows * t.d;
    if (!adds_grad(c, 0))
        zero_table<<<grid_over(c, all), BLOCK, 0, c->stream>>>(t.l, c->grad[0], all);
    list_rows<<<grid_over(c, places), BLOCK, 0, c->stream>>>(t, positions, ids, rows);
    table_gradient<<<dim3((unsigned)places, (unsigned)c->n_models), BLOCK, 0, c->stream>>>(
        t, rows, c->dy, c->grad[0]);
}

static void launch_embedding(const struct cuda_call *c)
{
    const size_t n = count_of(c->step->out);
    embed<<<grid_over(c, n * c->batch), BLOCK, 0, c->stream>>>(
        table_of(c), (const int32_t *)c->x[0], c->param[0], c->y);
}

static void launch_embedding_back(const struct cuda_call *c)
{
    if (c->grad[0])
        launch_table_gradient(c);
}

static void launch_positions(const struct cuda_call *c)
{
    const struct table t = table_of(c);
    add_positions<<<grid_over(c, (size_t)c->batch * t.length * 128), BLOCK, 0, c->stream>>>(
        t, c->x[0], (const int32_t *)c->x[1], c->param[0], c->y);
}

static __global__ void copy(struct lanes l, size_t per_row, const float *from, float *to, bool add)
{
    const int k = blockIdx.y;
    const size_t n = (size_t)l.model[k].n_valid * per_row;
    from = part(from, l.lane, k);
    to = part(to, l.lane, k);
    FOR_ELEMENTS(i, n)
    put(&to[i], add, from[i]);
}

static void launch_positions_back(const struct cuda_call *c)
{
    const size_t n = count_of(c->step->in[0]);
    if (c->grad[0])
        launch_table_gradient(c);
    if (c->dx[0] && (c->dx[0] != c->dy || adds_dx(c, 0)))
        copy<<<grid_over(c, n * c->batch), BLOCK, 0, c->stream>>>(lanes_of(c), n, c->dy, c->dx[0],
                                                                  adds_dx(c, 0));
}

static size_t workspace(const struct plan_step *s, int32_t batch)
{
    return ((size_t)batch * (s->out.rank == 2 ? s->out.d[0] : 1) + 1) / 2 * 2;
}

const struct cuda_kernel cuda_embedding_kernels[] = {
    {STEP_FORWARD, OP_EMBEDDING, "cuda embedding", launch_embedding, NULL},
    {STEP_BACKWARD, OP_EMBEDDING, "cuda embedding", launch_embedding_back, workspace},
    {STEP_BACKWARD_PARAMS, OP_EMBEDDING, "cuda embedding", launch_table_gradient, workspace},
    {STEP_FORWARD, OP_POSITIONS, "cuda positions", launch_positions, NULL},
    {STEP_BACKWARD, OP_POSITIONS, "cuda positions", launch_positions_back, workspace},
    {}};
