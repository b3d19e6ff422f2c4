/* What the tests of measuring share: a folder that looks like RAPL's, a GPU that is none. */
#ifndef HELPER_MEASURE_H
#define HELPER_MEASURE_H

#include "measure/nvml.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

int make_folder(void **state);
int remove_folder(void **state);
/* Writes root/domain/name; the domain is made. */
void put(const char *root, const char *domain, const char *name, const char *text);
void make_domain(const char *root, const char *domain, const char *name, const char *energy_uj,
                 const char *range_uj);

/* A fake GPU at 100 W: its counter rises with the clock.  Fields may be changed between calls. */
struct fake_gpu {
    double watts, counter_scale; /* counter = integral * scale */
    double born_s;
    unsigned utilization, temperature, sm_mhz;
    unsigned long long used_mib, throttle;
    double counter_jump_j; /* added to the counter: a reset when negative */
    bool no_fields;        /* an old driver: nvmlDeviceGetPowerUsage only */
    bool no_counter, no_power, lost;
    bool has_memory_v2; /* a driver since 510 */
    int energy_reads, power_reads;
};
extern struct fake_gpu fake;
/* Installs it, with these defaults: 100 W, scale 1, 50 %, 60 degC, 1500 MHz, 1000 MiB, 0x4. */
void fake_install(void);

#endif
