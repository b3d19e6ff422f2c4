/* What the processor can multiply and add at most: fused multiply-adds on registers alone, in all
 * of its independent chains, on several threads at once.
 *
 *     fma_peak [THREADS] [SECONDS]        defaults: 2, 0.5
 *
 * Prints one JSON line: GFLOP/s of all threads together (an FMA is two operations), the vector's
 * width.  Widest vectors of the machine it was compiled on.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#ifdef __AVX512F__
#define BYTES 64
#elif defined(__AVX__)
#define BYTES 32
#else
#define BYTES 16
#endif
/* Latency times units is at most 10 on any processor there is; AVX2 has 16 registers. */
#define CHAINS 12
#define EACH_CHAIN(do)                                                                             \
    do                                                                                             \
    (0) do(1) do(2) do(3) do(4) do(5) do(6) do(7) do(8) do(9) do(10) do(11)
#define LANES       (BYTES / (int)sizeof(float))
#define CHUNK       20000 /* rounds over all chains between two looks at the clock */
#define MAX_THREADS 256

typedef float vector __attribute__((vector_size(BYTES)));

struct job {
    pthread_t thread;
    pthread_barrier_t *start;
    double seconds, elapsed;
    int64_t rounds;
    float result;
};

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Chains as variables of their own: of an array the compiler would make a loop over memory. */
static void chunk(vector acc[CHAINS], vector a, vector b)
{
#define LOAD(i)  vector x##i = acc[i];
#define STEP(i)  x##i = x##i * a + b;
#define STORE(i) acc[i] = x##i;
    EACH_CHAIN(LOAD)
    for (int r = 0; r < CHUNK; r++) {
        EACH_CHAIN(STEP)
    }
    EACH_CHAIN(STORE)
}

static void *work(void *arg)
{
    struct job *job = arg;
    vector acc[CHAINS], a, b;
    for (int i = 0; i < LANES; i++) {
        a[i] = 0.999f;
        b[i] = 0.001f * (float)i; /* tends to b / (1 - a): no denormals, no overflow */
    }
    for (int i = 0; i < CHAINS; i++)
        acc[i] = b * (float)(i + 1);
    chunk(acc, a, b);
    pthread_barrier_wait(job->start);
    const double start = now_s();
    while ((job->elapsed = now_s() - start) < job->seconds) {
        chunk(acc, a, b);
        job->rounds += CHUNK;
    }
    for (int i = 0; i < CHAINS; i++)
        job->result += acc[i][i % LANES];
    return NULL;
}

int main(int argc, char **argv)
{
    const int threads = argc > 1 ? atoi(argv[1]) : 2;
    const double seconds = argc > 2 ? atof(argv[2]) : 0.5;
    struct job jobs[MAX_THREADS];
    pthread_barrier_t start;
    if (threads < 1 || threads > MAX_THREADS) {
        fprintf(stderr, "fma_peak: 1 to %d threads\n", MAX_THREADS);
        return 2;
    }
    pthread_barrier_init(&start, NULL, (unsigned)threads);
    for (int i = 0; i < threads; i++) {
        jobs[i] = (struct job){.start = &start, .seconds = seconds};
        if (pthread_create(&jobs[i].thread, NULL, work, &jobs[i])) {
            perror("fma_peak: thread");
            return 1;
        }
    }
    double rate = 0, result = 0;
    for (int i = 0; i < threads; i++) {
        pthread_join(jobs[i].thread, NULL);
        rate += (double)jobs[i].rounds * CHAINS * LANES * 2 / jobs[i].elapsed;
        result += (double)jobs[i].result;
    }
    printf("{\"threads\": %d, \"bits\": %d, \"gflops\": %.1f, \"check\": %.4g}\n", threads,
           BYTES * 8, rate * 1e-9, result);
    return 0;
}
