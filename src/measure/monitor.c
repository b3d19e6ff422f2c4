#include "measure/monitor.h"
#include "base/clock.h"
#include "base/os.h"
#include "base/text.h"
#include "measure/monitor_internal.h"
#include "measure/nvml.h"
#include "measure/rapl.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SAMPLE_EVERY_S 0.05
#define SLOW_EVERY     4    /* samples between readings the driver renews every 200 ms */
#define GPU_WINDOW_S   2.0  /* 20 updates of the counter */
#define RAPL_WINDOW_S  0.05 /* 50 updates of the counters */
#define IDLE_MIN_S     1.0  /* 10 updates of the power sensor */
#define POWER_GAP_S    1.0  /* a longer hole in the samples is no integral */
#define MIB            (1024.0 * 1024.0)

/* What the GPU's samples of a stretch of time add up to. */
struct gpu_stretch {
    double last_s, last_w, joules, covered_s; /* trapezoid of power */
    bool gap;
    double util_sum, util_max, clock_sum, temp_max, vram_max;
    int util_n, clock_n, temp_n, vram_n, power_n, throttle_n;
    uint64_t throttle;
    double counter_j; /* at its start; NaN unknown */
};

struct monitor {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool stop, use_gpu;
    int gpu;
    void *device; /* NULL: none */
    struct rapl rapl;
    double rapl_read_s;
    pid_t *watched;
    size_t n_watched, cap_watched;
    double host_peak_bytes;
    long ticks;
    /* The window; until it is marked it is the whole life. */
    bool begun, ended;
    double begin_s, end_s;
    int samples;
    struct gpu_stretch before, window;
    double counter_end_j;
};

static void sample_host(struct monitor *m)
{
    int64_t sum = os_current_rss(0);
    if (sum < 0)
        return;
    for (size_t i = 0; i < m->n_watched; i++) {
        const int64_t rss = os_current_rss(m->watched[i]);
        sum += rss > 0 ? rss : 0; /* a process that has ended uses nothing */
    }
    if ((double)sum > m->host_peak_bytes)
        m->host_peak_bytes = (double)sum;
}

static void sample_power(struct gpu_stretch *g, void *device)
{
    double w;
    if (!nvml_power_w(device, &w))
        return;
    const double now = clock_now_s();
    if (g->power_n > 0) {
        g->joules += (now - g->last_s) * (w + g->last_w) / 2;
        g->covered_s += now - g->last_s;
        g->gap |= now - g->last_s > POWER_GAP_S;
    }
    g->last_s = now;
    g->last_w = w;
    g->power_n++;
}

static void sample_slow(struct gpu_stretch *g, void *device)
{
    double v;
    uint64_t reasons;
    if (nvml_utilization_pct(device, &v)) {
        g->util_sum += v;
        g->util_max = fmax(g->util_max, v);
        g->util_n++;
    }
    if (nvml_sm_clock_mhz(device, &v)) {
        g->clock_sum += v;
        g->clock_n++;
    }
    if (nvml_temperature_c(device, &v)) {
        g->temp_max = g->temp_n ? fmax(g->temp_max, v) : v;
        g->temp_n++;
    }
    if (nvml_throttle_reasons(device, &reasons)) {
        g->throttle |= reasons;
        g->throttle_n++;
    }
}

static void sample_gpu(struct monitor *m, bool slow)
{
    double used, total;
    if (!m->device || m->ended)
        return;
    sample_power(&m->window, m->device);
    if (nvml_memory_mb(m->device, &used, &total)) {
        m->window.vram_max = fmax(m->window.vram_max, used);
        m->window.vram_n++;
    }
    if (slow)
        sample_slow(&m->window, m->device);
}

static void sample(struct monitor *m)
{
    sample_host(m);
    sample_gpu(m, m->ticks % SLOW_EVERY == 0);
    m->ticks++;
    if (m->ended)
        return;
    m->samples++;
    if (m->rapl.n > 0 && clock_now_s() - m->rapl_read_s > RAPL_READ_EVERY_S) {
        rapl_update(&m->rapl);
        m->rapl_read_s = clock_now_s();
    }
}

/* Waits for `seconds` or until somebody signals; a spurious end only samples early. */
static void wait_for(struct monitor *m, double seconds)
{
    const long ns = (long)(seconds * 1e9);
#ifdef __APPLE__
    const struct timespec t = {0, ns};
    pthread_cond_timedwait_relative_np(&m->wake, &m->lock, &t);
#else
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_nsec += ns;
    t.tv_sec += t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    pthread_cond_timedwait(&m->wake, &m->lock, &t);
#endif
}

static void *run(void *arg)
{
    struct monitor *m = arg;
    pthread_mutex_lock(&m->lock);
    while (!m->stop) {
        wait_for(m, SAMPLE_EVERY_S);
        if (!m->stop)
            sample(m);
    }
    pthread_mutex_unlock(&m->lock);
    return NULL;
}

/* The slow reading first, so that the window begins when all is read. */
static void mark_begin(struct monitor *m)
{
    m->window = (struct gpu_stretch){.counter_j = NAN};
    m->samples = 0;
    if (m->device && !nvml_energy_j(m->device, &m->window.counter_j))
        m->window.counter_j = NAN;
    rapl_reset(&m->rapl);
    sample_host(m);
    sample_gpu(m, true);
    m->begin_s = m->rapl_read_s = clock_now_s();
}

/* And here last. */
static void mark_end(struct monitor *m)
{
    m->end_s = clock_now_s();
    rapl_update(&m->rapl);
    sample_gpu(m, true);
    sample_host(m);
    m->counter_end_j = NAN;
    if (m->device && !nvml_energy_j(m->device, &m->counter_end_j))
        m->counter_end_j = NAN;
    m->ended = true;
}

static void init_wake(pthread_cond_t *wake)
{
#ifdef __APPLE__
    pthread_cond_init(wake, NULL);
#else
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(wake, &attr);
    pthread_condattr_destroy(&attr);
#endif
}

static void release(struct monitor *m)
{
    rapl_close(&m->rapl);
    pthread_cond_destroy(&m->wake);
    pthread_mutex_destroy(&m->lock);
    free(m->watched);
    free(m);
}

struct monitor *monitor_start(int gpu, bool use_gpu, struct error *err)
{
    return monitor_start_with(gpu, use_gpu, RAPL_ROOT, err);
}

struct monitor *monitor_start_with(int gpu, bool use_gpu, const char *rapl_root, struct error *err)
{
    struct monitor *m = xcalloc(1, sizeof *m);
    m->gpu = gpu;
    m->use_gpu = use_gpu;
    m->device = use_gpu ? nvml_device(gpu) : NULL;
    pthread_mutex_init(&m->lock, NULL);
    init_wake(&m->wake);
    rapl_open(&m->rapl, rapl_root);
    mark_begin(m);
    /* Signals belong to the threads that know what to do with them. */
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    const int why = pthread_create(&m->thread, NULL, run, m);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (why == 0)
        return m;
    error_errno(err, why, "cannot start the monitor's thread");
    release(m);
    return NULL;
}

void monitor_watch(struct monitor *m, pid_t pid)
{
    pthread_mutex_lock(&m->lock);
    if (m->n_watched == m->cap_watched) {
        m->cap_watched = m->cap_watched ? 2 * m->cap_watched : 16;
        m->watched = xrealloc(m->watched, m->cap_watched * sizeof *m->watched);
    }
    m->watched[m->n_watched++] = pid;
    pthread_mutex_unlock(&m->lock);
}

void monitor_unwatch(struct monitor *m, pid_t pid)
{
    pthread_mutex_lock(&m->lock);
    for (size_t i = 0; i < m->n_watched; i++) {
        if (m->watched[i] == pid) {
            m->watched[i] = m->watched[--m->n_watched];
            break;
        }
    }
    pthread_mutex_unlock(&m->lock);
}

void monitor_window_begin(struct monitor *m)
{
    pthread_mutex_lock(&m->lock);
    if (!m->begun && !m->ended) {
        m->before = m->window;
        m->begun = true;
        mark_begin(m);
    }
    pthread_mutex_unlock(&m->lock);
}

void monitor_window_end(struct monitor *m)
{
    pthread_mutex_lock(&m->lock);
    if (!m->ended)
        mark_end(m);
    pthread_mutex_unlock(&m->lock);
}

static double mean(double sum, int n)
{
    return n > 0 ? sum / n : NAN;
}

static double known(double value, int n)
{
    return n > 0 ? value : NAN;
}

static void add_cause(struct monitor_summary *s, const char *cause)
{
    const size_t n = strlen(s->energy_cause);
    snprintf(s->energy_cause + n, sizeof s->energy_cause - n, "%s%s", n ? "; " : "", cause);
}

static void sum_gpu_load(const struct monitor *m, struct monitor_summary *s)
{
    const struct gpu_stretch *w = &m->window, *b = &m->before;
    s->gpu_util_mean = mean(w->util_sum, w->util_n);
    s->gpu_util_max = known(w->util_max, w->util_n);
    s->vram_peak_mb = known(w->vram_max, w->vram_n);
    s->gpu_temp_max_c = known(w->temp_max, w->temp_n);
    s->sm_clock_mean_mhz = mean(w->clock_sum, w->clock_n);
    s->gpu_power_mean_w = w->covered_s > 0 ? w->joules / w->covered_s : NAN;
    if (w->throttle_n > 0)
        snprintf(s->throttle_reasons, sizeof s->throttle_reasons, "0x%llx",
                 (unsigned long long)w->throttle);
    const bool idle = b->covered_s >= IDLE_MIN_S && b->util_n > 0 && b->util_max <= 0 && !b->gap;
    s->gpu_idle_w = idle ? b->joules / b->covered_s : NAN;
}

static void sum_gpu_energy(const struct monitor *m, struct monitor_summary *s)
{
    const struct gpu_stretch *w = &m->window;
    const double counted = m->counter_end_j - w->counter_j;
    char cause[96];
    if (!m->device) {
        snprintf(cause, sizeof cause, nvml_available() ? "NVML has no GPU %d" : "no NVML", m->gpu);
        add_cause(s, cause);
        return;
    }
    if (s->window_s < GPU_WINDOW_S) {
        snprintf(cause, sizeof cause, "window of %.2f s below the %.0f s the GPU's sensor needs",
                 s->window_s, GPU_WINDOW_S);
        add_cause(s, cause);
        return;
    }
    if (counted > 0)
        s->gpu_energy_counter_j = counted;
    else if (counted <= 0)
        add_cause(s, counted < 0 ? "the GPU's energy counter went backwards"
                                 : "the GPU's energy counter stood still");
    if (w->power_n > 1 && !w->gap)
        s->gpu_energy_integral_j = w->joules;
    if (isnan(s->gpu_energy_counter_j) && isnan(s->gpu_energy_integral_j))
        add_cause(s, "the GPU reports neither energy nor power");
    s->gpu_energy_ratio = s->gpu_energy_counter_j / s->gpu_energy_integral_j;
}

static void sum_host_energy(const struct monitor *m, struct monitor_summary *s)
{
    char cause[96];
    if (m->rapl.n == 0)
        add_cause(s, m->rapl.cause);
    else if (s->window_s < RAPL_WINDOW_S) {
        snprintf(cause, sizeof cause, "window of %.3f s below the %.2f s RAPL needs", s->window_s,
                 RAPL_WINDOW_S);
        add_cause(s, cause);
    } else if (m->rapl.lost)
        add_cause(s, "RAPL could not be read at the end");
    else
        s->host_energy_j = m->rapl.joules;
}

static void summarise(const struct monitor *m, struct monitor_summary *s)
{
    *s = (struct monitor_summary){
        .window_s = m->end_s - m->begin_s,
        .samples = m->samples,
        .gpu_energy_counter_j = NAN,
        .gpu_energy_integral_j = NAN,
        .gpu_energy_ratio = NAN,
        .host_energy_j = NAN,
        .host_peak_mb = NAN,
    };
    sum_gpu_load(m, s);
    if (m->use_gpu)
        sum_gpu_energy(m, s);
    sum_host_energy(m, s);
    const char *method = m->use_gpu ? "" : isnan(s->host_energy_j) ? "" : "rapl";
    if (!isnan(s->gpu_energy_counter_j))
        method = "nvml counter";
    else if (!isnan(s->gpu_energy_integral_j))
        method = "nvml integral";
    snprintf(s->energy_method, sizeof s->energy_method, "%s", method);
    if (m->host_peak_bytes > 0)
        s->host_peak_mb = m->host_peak_bytes / MIB;
}

void monitor_stop(struct monitor *m, struct monitor_summary *out)
{
    if (!m)
        return;
    pthread_mutex_lock(&m->lock);
    m->stop = true;
    if (!m->ended)
        mark_end(m);
    else
        sample_host(m);
    pthread_cond_signal(&m->wake);
    pthread_mutex_unlock(&m->lock);
    pthread_join(m->thread, NULL);
    /* The system's own peak of this process misses nothing between two samples. */
    m->host_peak_bytes = fmax(m->host_peak_bytes, (double)os_peak_rss(0));
    if (out)
        summarise(m, out);
    release(m);
}
