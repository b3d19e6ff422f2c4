/* The types of a kernel, for one element type: included once with float (kernel.h) and once more
 * with double by the tests' double build of the reference kernels.  REAL, CALL and KERNEL are
 * given. No include guard on purpose. */

/* What one unit of work -- one step, for one shard of one model -- gets.  Pointers named after
 * per-row buffers point to the shard's first row; NULL where the step has none. */
struct CALL {
    const struct plan_step *step; /* attributes, shapes, counts of parameters */
    int32_t rows;                 /* valid rows in this shard; kernels run with at least 1 */
    int32_t first_row;            /* position of the shard's first row in the batch */
    int32_t n_valid;              /* valid rows in the whole batch */
    int32_t shard, rows_per_shard;
    bool training; /* a training program: dropout drops, batch norm uses the batch */
    bool relu;     /* fused regions: y = relu(of the result); kernels that say fuses_relu */

    /* Counters of the random streams. */
    uint64_t seed;
    uint32_t epoch;
    uint32_t batch; /* index of the batch in its pass, from 0 */

    const uint32_t *ids; /* sample ids of the shard's rows (gather) */
    const struct source *source;

    const REAL *x;
    REAL *y;
    const REAL *dy;
    REAL *dx;
    bool add_dx; /* add to dx instead of overwriting */
    /* The same for inputs 1 ... of operations that have several.  Tokens are int32 in REAL slots of
     * the memory, one after the other: call_tokens. */
    const REAL *more_x[OP_MAX_INPUTS - 1];
    REAL *more_dx[OP_MAX_INPUTS - 1];
    int32_t add_more_dx; /* bit i: of more_dx[i] */
    int32_t *saved;
    void *target; /* int32 classes or floats, one a row; or L int32 a row */

    REAL *partial;         /* shard 0's part; */
    size_t partial_stride; /* floats to the next shard's */
    REAL *whole[2];        /* this shard's copy: backward may reach it before shard 0 is that far */

    const REAL *param[OP_MAX_PARAMS];
    /* This shard's, or the batch's (BACKWARD_PARAMS); NULL: not this step's to give. */
    REAL *grad[OP_MAX_PARAMS];
    int32_t add_grad;    /* bit i: add to grad[i] instead of overwriting */
    int32_t part, parts; /* BACKWARD_PARAMS: which part of how many (plan.h) */
    REAL *buffer[OP_MAX_BUFFERS];

    REAL *scratch; /* this thread's, as much as the kernel's scratch() asked for */
};

/* Arrays of kernels end with one without a name. */
struct KERNEL {
    enum step_kind kind;
    enum op_kind op;
    const char *name;
    void (*run)(const struct CALL *call);
    /* Elements of scratch a call may need; NULL: none. */
    size_t (*scratch)(const struct plan_step *step, int32_t rows_per_shard);
    bool fuses_relu; /* honours call->relu */
};
