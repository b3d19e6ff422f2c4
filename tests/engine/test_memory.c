/* labels: quick; timeout: 120 */
/* The plan's arena is the peak; training allocates nothing; memory stays flat over 1,000 steps. */
#include "helper_engine.h"

#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <unistd.h>

/* ---- every allocation of the process goes through these ---- */

#if defined(__SANITIZE_ADDRESS__)
#define HOOKED 0 /* the sanitizer has hooks of its own */
#elif defined(__SANITIZE_THREAD__)
#define HOOKED 0
#elif defined(__GLIBC__)
#define HOOKED 1
#else
#define HOOKED 0
#endif

static _Atomic bool counting;
static _Atomic long allocations;

#if HOOKED
static void count(void)
{
    if (atomic_load_explicit(&counting, memory_order_relaxed))
        atomic_fetch_add(&allocations, 1);
}

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);
void *__libc_memalign(size_t alignment, size_t n);

void *malloc(size_t n)
{
    count();
    return __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
    count();
    return __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
    count();
    return __libc_realloc(p, n);
}

void *aligned_alloc(size_t alignment, size_t n)
{
    count();
    return __libc_memalign(alignment, n);
}

int posix_memalign(void **p, size_t alignment, size_t n)
{
    count();
    *p = __libc_memalign(alignment, n);
    return *p ? 0 : ENOMEM;
}
#endif

/* ---- resident memory ---- */

static long resident_bytes(void)
{
    long pages = 0, ignored;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%ld %ld", &ignored, &pages) != 2)
        pages = -1;
    if (f)
        fclose(f);
    return pages < 0 ? -1 : pages * sysconf(_SC_PAGESIZE);
}

/* ---- what is trained ---- */

struct net_case {
    const char *data, *model, *optimizer;
    bool synthetic;
    int batch;
    int64_t limit;
    int models, epochs;
    double clip;
};

static struct bucket *bucket_of(struct engine *e, const struct dataset *d, const struct net_case *c,
                                size_t *bytes)
{
    struct error err = ERROR_INIT;
    struct train_spec jobs[4];
    for (int i = 0; i < c->models; i++)
        jobs[i] = (struct train_spec){.job_id = "job",
                                      .seed = 10 + (uint64_t)i,
                                      .split = {.kind = SPLIT_FIXED},
                                      .epochs = c->epochs,
                                      .optim = optim_defaults(c->optimizer, 0.001),
                                      .clip_grad_norm = c->clip};
    const struct bucket_spec spec = {.data = d,
                                     .train_limit = c->limit,
                                     .model = c->model,
                                     .task = d->task,
                                     .optimizer = c->optimizer,
                                     .batch_size = c->batch,
                                     .n_models = c->models,
                                     .models = jobs};
    if (!engine_bucket_bytes(e, &spec, bytes, &err))
        fail_msg("%s", err.text);
    return make_bucket(e, &spec);
}

/* Starts counting at the first report of an epoch, stops at the last; keeps the memory of both. */
struct watch {
    int epochs, seen;
    int from; /* epoch whose end is the first reading */
    long at_first, at_last;
};

static void on_epoch(void *ctx, const struct bucket *b, int model, const struct epoch_report *r)
{
    (void)b;
    struct watch *w = ctx;
    if (model != 0)
        return;
    if (r->epoch == w->epochs) {
        atomic_store(&counting, false);
        w->at_last = resident_bytes();
    }
    if (r->epoch == w->from) {
        w->at_first = resident_bytes();
        atomic_store(&counting, true);
    }
    w->seen = r->epoch;
}

static void check_no_allocation(const struct net_case *c, int threads)
{
    size_t bytes;
    struct dataset *d = load_data(c->data, c->synthetic);
    struct engine *e = open_engine(threads);
    struct bucket *b = bucket_of(e, d, c, &bytes);
    struct watch w = {.epochs = c->epochs, .from = 1};
    const struct engine_events events = {.ctx = &w, .epoch = on_epoch};
    atomic_store(&allocations, 0);
    run_buckets(e, &b, 1, &events);
    atomic_store(&counting, false);
    assert_int_equal(w.seen, c->epochs);
    if (HOOKED)
        assert_int_equal(atomic_load(&allocations), 0);
    bucket_free(b);
    engine_close(e);
    data_free(d);
}

static const struct net_case nets[] = {
    {"digits", "digits_cnn", "adamw", false, 32, 300, 3, 4, 1.0},
    {"digits", "resnet18?width=8", "sgd", false, 32, 100, 1, 4, 0},
    {"digits", "mobilenet_v3_small", "adam", false, 32, 64, 1, 3, 0},
    {"wikitext?n_train=32&n_test=8&seq=16&vocab=4096", "transformer?layers=2&d_model=32&ff=64",
     "adamw", true, 8, 0, 2, 4, 0.5},
    {"sst2?n_train=32&n_test=8&seq=16&vocab=4096",
     "xlm_roberta?layers=1&d_model=24&ff=64&vocab=4096", "adamw", true, 8, 0, 1, 3, 0},
};

static void test_training_allocates_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof nets / sizeof *nets; i++)
        for (int threads = 1; threads <= 3; threads += 2)
            check_no_allocation(&nets[i], threads);
}

/* The hook itself works: otherwise the test above could not fail. */
static void test_the_hook_counts(void **state)
{
    (void)state;
    atomic_store(&allocations, 0);
    atomic_store(&counting, true);
    void *volatile a = malloc(10);
    void *volatile b = calloc(2, 10);
    atomic_store(&counting, false);
    free(a);
    free(b);
    if (!HOOKED)
        skip();
    assert_int_equal(atomic_load(&allocations), 2);
}

/* Planned bytes are what making and training a bucket costs: not more, and not much less. */
static void test_the_arena_is_the_peak(void **state)
{
    (void)state;
    if (!HOOKED)
        skip(); /* a sanitizer keeps memory of its own */
    static const struct net_case cases[] = {
        {"digits", "mlp?hidden1=8192&hidden2=512", "adamw", false, 64, 128, 2, 1, 0},
        {"digits", "resnet18", "sgd", false, 32, 64, 1, 1, 0},
        {"wikitext?n_train=16&n_test=8&seq=64&vocab=8192", "transformer?layers=2&d_model=128",
         "adamw", true, 8, 0, 2, 1, 0},
    };
    /* Memory that was freed must not serve again: what the first case frees would hide what the
     * second takes. */
    mallopt(M_MMAP_THRESHOLD, 64 << 10);
    mallopt(M_TRIM_THRESHOLD, 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t bytes;
        struct dataset *d = load_data(cases[i].data, cases[i].synthetic);
        struct engine *e = open_engine(2);
        malloc_trim(0);
        const long before = resident_bytes();
        struct bucket *b = bucket_of(e, d, &cases[i], &bytes);
        run_buckets(e, &b, 1, NULL);
        malloc_trim(0);
        const double grown = (double)(resident_bytes() - before), planned = (double)bytes;
        if (planned < 8e6)
            fail_msg("%s: %.0f bytes are too few to tell", cases[i].model, planned);
        if (grown > planned + 2e6 || grown < 0.8 * planned)
            fail_msg("%s: planned %.0f bytes, grown by %.0f", cases[i].model, planned, grown);
        bucket_free(b);
        engine_close(e);
        data_free(d);
    }
}

/* 64 samples in batches of 4: 16 updates an epoch. */
static void test_memory_stays_flat(void **state)
{
    (void)state;
    const struct net_case c = {"digits", "digits_cnn", "adamw", false, 4, 64, 2, 70, 0};
    size_t bytes;
    struct dataset *d = load_data(c.data, c.synthetic);
    struct engine *e = open_engine(2);
    struct bucket *b = bucket_of(e, d, &c, &bytes);
    struct watch w = {.epochs = c.epochs, .from = 4};
    const struct engine_events events = {.ctx = &w, .epoch = on_epoch};
    run_buckets(e, &b, 1, &events);
    atomic_store(&counting, false);
    assert_true(w.at_first > 0 && w.at_last > 0);
    if (HOOKED && w.at_last - w.at_first > 256 << 10)
        fail_msg("resident memory grew from %ld to %ld bytes over 1,056 steps", w.at_first,
                 w.at_last);
    bucket_free(b);
    engine_close(e);
    data_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_hook_counts),
        cmocka_unit_test(test_training_allocates_nothing),
        cmocka_unit_test(test_the_arena_is_the_peak),
        cmocka_unit_test(test_memory_stays_flat),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
