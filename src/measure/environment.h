/* The environment every row of both files records. */
#ifndef MEASURE_ENVIRONMENT_H
#define MEASURE_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>

struct environment {
    char cpu_model[128];
    int cpu_cores;               /* this process may use */
    char hostname[128], os[160]; /* "Linux 6.1.0-18-amd64 x86_64" */
    double ram_total_mb;
    /* Blank strings, -1 where there is no GPU or no driver. */
    char gpu_name[96], gpu_uuid[96], driver_version[48], cuda_version[16], compute_mode[24];
    double vram_total_mb, power_limit_w;
    int gpu_count;
    char gpu_cause[160]; /* why there is none: "libnvidia-ml.so.1 is not installed: ..."; else "" */
};

/* gpu: NVML index (only used when NVML is there). */
void environment_read(struct environment *env, int gpu);

/* Can the processor's energy counters (RAPL) be read?  cause (size bytes): why not, else "". */
bool environment_host_energy(char *cause, size_t size);

#endif
