/* NVML, opened at run time: fugue is built without NVIDIA's headers and runs without a driver.
 * Internal to the room.  Every reading is optional: false where the library, the function or the
 * GPU does not have it.
 *
 * Costs seen on an H200: the energy counter about 4 ms, power 1 to 6 us; both move every 100 ms,
 * utilisation every 200 ms.
 */
#ifndef MEASURE_NVML_H
#define MEASURE_NVML_H

#include <stdbool.h>
#include <stdint.h>

/* NVML's own types, by their published layout. */
struct nvml_utilization {
    unsigned gpu, memory; /* % */
};
struct nvml_memory {
    unsigned long long total, free, used; /* bytes */
};
union nvml_value {
    double d;
    int si;
    unsigned ui;
    unsigned long ul;
    unsigned long long ull;
    long long sll;
};
struct nvml_memory_v2 {
    unsigned version; /* NVML_MEMORY_V2 */
    unsigned long long total, reserved, free, used;
};
#define NVML_MEMORY_V2 ((unsigned)sizeof(struct nvml_memory_v2) | 2u << 24)
struct nvml_field_value {
    unsigned field, scope;
    long long timestamp, latency_us;
    int value_type; /* 0 double, 1 unsigned, 2 unsigned long, 3 unsigned long long, 4 long long, 5
                       int */
    int result;
    union nvml_value value;
};
#define NVML_FIELD_POWER_INSTANT 186u /* mW, scope 0: the GPU */

/* NVML's functions; 0 is success.  Any may be NULL. */
struct nvml_table {
    int (*init)(void);
    int (*driver_version)(char *out, unsigned size);
    int (*cuda_version)(int *out); /* 12040: 12.4 */
    int (*count)(unsigned *out);
    int (*by_index)(unsigned index, void **device);
    int (*name)(void *device, char *out, unsigned size);
    int (*uuid)(void *device, char *out, unsigned size);
    int (*compute_mode)(void *device, int *out);
    int (*power_limit)(void *device, unsigned *mw);
    int (*memory)(void *device, struct nvml_memory *out);
    int (*memory_v2)(void *device, struct nvml_memory_v2 *out);
    int (*utilization)(void *device, struct nvml_utilization *out);
    int (*power)(void *device, unsigned *mw);
    int (*fields)(void *device, int n, struct nvml_field_value *values);
    int (*energy)(void *device, unsigned long long *mj);
    int (*clock)(void *device, int type, unsigned *mhz);
    int (*temperature)(void *device, int sensor, unsigned *celsius);
    int (*throttle)(void *device, unsigned long long *reasons);
};

/* Opens and initialises the library once a process; false when there is none. */
bool nvml_available(void);
/* Why nvml_available is false: the library is not there, or what it answered; "" when it is there.
 */
const char *nvml_cause(void);
/* Tests: uses this table from now on (initialising it); NULL goes back to the library. */
void nvml_set_table(const struct nvml_table *table);

int nvml_count(void); /* 0 without NVML */
bool nvml_driver_version(char *out, unsigned size);
bool nvml_cuda_version(char *out, unsigned size); /* "12.4" */
/* NULL when there is no such GPU. */
void *nvml_device(int index);

bool nvml_name(void *device, char *out, unsigned size);
bool nvml_uuid(void *device, char *out, unsigned size);
const char *nvml_compute_mode(void *device); /* "DEFAULT", ...; "" unknown */
bool nvml_power_limit_w(void *device, double *out);
/* MiB, of the whole device.  Without what the driver keeps for itself, as nvidia-smi shows it,
 * where the driver tells the two apart (since 510; 615 MiB on an H200). */
bool nvml_memory_mb(void *device, double *used, double *total);
bool nvml_utilization_pct(void *device, double *out);
/* Instantaneous power where the driver has it, else nvmlDeviceGetPowerUsage (a mean over 1 s on
 * newer GPUs). */
bool nvml_power_w(void *device, double *out);
bool nvml_energy_j(void *device, double *out); /* since the driver was loaded */
bool nvml_sm_clock_mhz(void *device, double *out);
bool nvml_temperature_c(void *device, double *out);
bool nvml_throttle_reasons(void *device, uint64_t *out);

#endif
