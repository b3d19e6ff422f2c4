#include "measure/nvml.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define MIB        (1024.0 * 1024.0)
#define CAUSE_SIZE 160

/* Where each function's pointer goes.  Several names: the newest first. */
static const struct {
    size_t offset;
    const char *names[3];
} symbols[] = {
    {offsetof(struct nvml_table, init), {"nvmlInit_v2", "nvmlInit"}},
    {offsetof(struct nvml_table, driver_version), {"nvmlSystemGetDriverVersion"}},
    {offsetof(struct nvml_table, cuda_version),
     {"nvmlSystemGetCudaDriverVersion_v2", "nvmlSystemGetCudaDriverVersion"}},
    {offsetof(struct nvml_table, count), {"nvmlDeviceGetCount_v2", "nvmlDeviceGetCount"}},
    {offsetof(struct nvml_table, by_index),
     {"nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex"}},
    {offsetof(struct nvml_table, name), {"nvmlDeviceGetName"}},
    {offsetof(struct nvml_table, uuid), {"nvmlDeviceGetUUID"}},
    {offsetof(struct nvml_table, compute_mode), {"nvmlDeviceGetComputeMode"}},
    {offsetof(struct nvml_table, power_limit), {"nvmlDeviceGetEnforcedPowerLimit"}},
    {offsetof(struct nvml_table, memory), {"nvmlDeviceGetMemoryInfo"}},
    {offsetof(struct nvml_table, memory_v2), {"nvmlDeviceGetMemoryInfo_v2"}},
    {offsetof(struct nvml_table, utilization), {"nvmlDeviceGetUtilizationRates"}},
    {offsetof(struct nvml_table, power), {"nvmlDeviceGetPowerUsage"}},
    {offsetof(struct nvml_table, fields), {"nvmlDeviceGetFieldValues"}},
    {offsetof(struct nvml_table, energy), {"nvmlDeviceGetTotalEnergyConsumption"}},
    {offsetof(struct nvml_table, clock), {"nvmlDeviceGetClockInfo"}},
    {offsetof(struct nvml_table, temperature), {"nvmlDeviceGetTemperature"}},
    {offsetof(struct nvml_table, throttle),
     {"nvmlDeviceGetCurrentClocksThrottleReasons", "nvmlDeviceGetCurrentClocksEventReasons"}},
};

/* The library is a registry of the process: opened once, never closed. */
static struct nvml_table library;
static bool library_ok;
static char library_cause[CAUSE_SIZE], test_cause[CAUSE_SIZE];
static pthread_once_t once = PTHREAD_ONCE_INIT;
static const struct nvml_table *test_table;
static bool test_ok;

/* What nvmlInit answers on machines that have the library and no working driver. */
static const struct {
    int code;
    const char *meaning;
} init_answers[] = {
    {4, "no permission to use the driver"},
    {9, "the NVIDIA driver is not loaded"},
    {18, "the driver and libnvidia-ml.so are of different versions: restart the machine"},
};

/* Initialises a table that was opened; else why says what went wrong. */
static bool start(const struct nvml_table *t, bool may_lack_init, char why[CAUSE_SIZE])
{
    const char *meaning = NULL;
    why[0] = '\0';
    if (!t->init && !may_lack_init)
        snprintf(why, CAUSE_SIZE, "libnvidia-ml.so has no nvmlInit");
    const int code = t->init ? t->init() : 0;
    for (size_t i = 0; i < sizeof init_answers / sizeof *init_answers; i++)
        if (init_answers[i].code == code)
            meaning = init_answers[i].meaning;
    if (meaning)
        snprintf(why, CAUSE_SIZE, "%s", meaning);
    else if (code != 0)
        snprintf(why, CAUSE_SIZE, "nvmlInit failed with code %d", code);
    return !why[0];
}

static void open_library(void)
{
    static const char *const files[] = {"libnvidia-ml.so.1", "libnvidia-ml.so"};
    void *handle = NULL;
    for (size_t i = 0; !handle && i < sizeof files / sizeof *files; i++)
        handle = dlopen(files[i], RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        snprintf(library_cause, CAUSE_SIZE, "%s is not installed: no NVIDIA driver", files[0]);
        return;
    }
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        void *f = NULL;
        for (int j = 0; !f && j < 3 && symbols[i].names[j]; j++)
            f = dlsym(handle, symbols[i].names[j]);
        /* ISO C has no conversion from object to function pointer; POSIX promises equal bytes. */
        memcpy((char *)&library + symbols[i].offset, &f, sizeof f);
    }
    library_ok = start(&library, false, library_cause);
}

/* NULL when there is no NVML. */
static const struct nvml_table *api(void)
{
    if (test_table)
        return test_ok ? test_table : NULL;
    pthread_once(&once, open_library);
    return library_ok ? &library : NULL;
}

bool nvml_available(void)
{
    return api() != NULL;
}

const char *nvml_cause(void)
{
    if (nvml_available())
        return "";
    return test_table ? test_cause : library_cause;
}

void nvml_set_table(const struct nvml_table *table)
{
    test_table = table;
    test_ok = table && start(table, true, test_cause);
}

int nvml_count(void)
{
    const struct nvml_table *t = api();
    unsigned n = 0;
    return t && t->count && t->count(&n) == 0 ? (int)n : 0;
}

bool nvml_driver_version(char *out, unsigned size)
{
    const struct nvml_table *t = api();
    return t && t->driver_version && t->driver_version(out, size) == 0;
}

bool nvml_cuda_version(char *out, unsigned size)
{
    const struct nvml_table *t = api();
    int v = 0;
    if (!t || !t->cuda_version || t->cuda_version(&v) != 0)
        return false;
    snprintf(out, size, "%d.%d", v / 1000, v % 1000 / 10);
    return true;
}

void *nvml_device(int index)
{
    const struct nvml_table *t = api();
    void *device = NULL;
    if (!t || !t->by_index || index < 0 || t->by_index((unsigned)index, &device) != 0)
        return NULL;
    return device;
}

bool nvml_name(void *device, char *out, unsigned size)
{
    const struct nvml_table *t = api();
    return t && t->name && t->name(device, out, size) == 0;
}

bool nvml_uuid(void *device, char *out, unsigned size)
{
    const struct nvml_table *t = api();
    return t && t->uuid && t->uuid(device, out, size) == 0;
}

const char *nvml_compute_mode(void *device)
{
    static const char *const names[] = {"DEFAULT", "EXCLUSIVE_THREAD", "PROHIBITED",
                                        "EXCLUSIVE_PROCESS"};
    const struct nvml_table *t = api();
    int mode = -1;
    if (!t || !t->compute_mode || t->compute_mode(device, &mode) != 0)
        return "";
    return mode >= 0 && mode < 4 ? names[mode] : "UNKNOWN";
}

bool nvml_power_limit_w(void *device, double *out)
{
    const struct nvml_table *t = api();
    unsigned mw = 0;
    if (!t || !t->power_limit || t->power_limit(device, &mw) != 0)
        return false;
    *out = mw / 1000.0;
    return true;
}

bool nvml_memory_mb(void *device, double *used, double *total)
{
    const struct nvml_table *t = api();
    struct nvml_memory_v2 v2 = {.version = NVML_MEMORY_V2};
    struct nvml_memory m = {0};
    if (t && t->memory_v2 && t->memory_v2(device, &v2) == 0) {
        *used = (double)v2.used / MIB;
        *total = (double)v2.total / MIB;
        return true;
    }
    if (!t || !t->memory || t->memory(device, &m) != 0)
        return false;
    *used = (double)m.used / MIB;
    *total = (double)m.total / MIB;
    return true;
}

bool nvml_utilization_pct(void *device, double *out)
{
    const struct nvml_table *t = api();
    struct nvml_utilization u = {0};
    if (!t || !t->utilization || t->utilization(device, &u) != 0)
        return false;
    *out = u.gpu;
    return true;
}

static bool field_number(const struct nvml_field_value *v, double *out)
{
    const double values[] = {v->value_type == 0 ? v->value.d : 0,
                             (double)v->value.ui,
                             (double)v->value.ul,
                             (double)v->value.ull,
                             (double)v->value.sll,
                             (double)v->value.si};
    if (v->result != 0 || v->value_type < 0 || v->value_type > 5)
        return false;
    *out = values[v->value_type];
    return true;
}

bool nvml_power_w(void *device, double *out)
{
    const struct nvml_table *t = api();
    struct nvml_field_value v = {.field = NVML_FIELD_POWER_INSTANT};
    double mw;
    unsigned usage = 0;
    if (t && t->fields && t->fields(device, 1, &v) == 0 && field_number(&v, &mw)) {
        *out = mw / 1000.0;
        return true;
    }
    if (!t || !t->power || t->power(device, &usage) != 0)
        return false;
    *out = usage / 1000.0;
    return true;
}

bool nvml_energy_j(void *device, double *out)
{
    const struct nvml_table *t = api();
    unsigned long long mj = 0;
    if (!t || !t->energy || t->energy(device, &mj) != 0)
        return false;
    *out = (double)mj / 1000.0;
    return true;
}

bool nvml_sm_clock_mhz(void *device, double *out)
{
    const struct nvml_table *t = api();
    unsigned mhz = 0;
    if (!t || !t->clock || t->clock(device, 1, &mhz) != 0) /* 1: the multiprocessors */
        return false;
    *out = mhz;
    return true;
}

bool nvml_temperature_c(void *device, double *out)
{
    const struct nvml_table *t = api();
    unsigned celsius = 0;
    if (!t || !t->temperature || t->temperature(device, 0, &celsius) != 0) /* 0: the die */
        return false;
    *out = celsius;
    return true;
}

bool nvml_throttle_reasons(void *device, uint64_t *out)
{
    const struct nvml_table *t = api();
    unsigned long long reasons = 0;
    if (!t || !t->throttle || t->throttle(device, &reasons) != 0)
        return false;
    *out = reasons;
    return true;
}
