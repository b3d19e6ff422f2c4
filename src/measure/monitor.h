/* One device monitor over a cell, the same for every strategy: GPU through NVML (opened at run
 * time), host energy through RAPL, host memory.  Unknown is unknown (NaN -> a blank column) with a
 * cause, never 0.
 */
#ifndef MEASURE_MONITOR_H
#define MEASURE_MONITOR_H

#include "base/error.h"

#include <sys/types.h>

struct monitor;

struct monitor_summary {
    double window_s;
    int samples;
    /* GPU; NaN where unknown. */
    double gpu_energy_counter_j, gpu_energy_integral_j, gpu_energy_ratio, gpu_idle_w;
    double gpu_util_mean, gpu_util_max, vram_peak_mb, gpu_power_mean_w, gpu_temp_max_c,
        sm_clock_mean_mhz;
    char throttle_reasons[64]; /* hex, "" unknown */
    /* Host. */
    double host_energy_j;   /* RAPL packages; wrap-around handled */
    double host_peak_mb;    /* MiB: highest sampled sum of this process and its watched children,
                               and never less than this process's own peak */
    char energy_method[48]; /* "nvml counter", "nvml integral", "rapl", "" */
    char energy_cause[128]; /* why energy is blank: "no NVML, no RAPL", "window below 2 s" */
};

/* use_gpu false: host only. */
struct monitor *monitor_start(int gpu, bool use_gpu, struct error *err);
/* Processes whose memory counts beside this one's (mp workers). */
void monitor_watch(struct monitor *m, pid_t pid);
void monitor_unwatch(struct monitor *m, pid_t pid);
/* Marks the start and end of the measured window (T_group), once each; where one is never marked
 * the window is the monitor's whole life.  On a GPU each costs about 4 ms (its energy counter):
 * begin returns when the window begins, end notes the time first, so call them just outside
 * T_group.  A GPU that did nothing for a second before begin gives gpu_idle_w. */
void monitor_window_begin(struct monitor *m);
void monitor_window_end(struct monitor *m);
/* Returns at once (does not wait for a sampling interval) and frees; out may be NULL. */
void monitor_stop(struct monitor *m, struct monitor_summary *out);

#endif
