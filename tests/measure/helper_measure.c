#include "helper_measure.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int make_folder(void **state)
{
    char name[] = "/tmp/fugue-measure-XXXXXX";
    if (!mkdtemp(name))
        return -1;
    *state = xstrdup(name);
    return 0;
}

static void remove_tree(const char *path)
{
    DIR *d = opendir(path);
    const struct dirent *e;
    while (d && (e = readdir(d)) != NULL) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        char *inner = path_join(path, e->d_name);
        if (unlink(inner) != 0)
            remove_tree(inner);
        free(inner);
    }
    if (d)
        closedir(d);
    rmdir(path);
}

int remove_folder(void **state)
{
    remove_tree(*state);
    free(*state);
    nvml_set_table(NULL);
    return 0;
}

void put(const char *root, const char *domain, const char *name, const char *text)
{
    char *folder = path_join(root, domain), *path = path_join(folder, name);
    mkdir(folder, 0777);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    free(path);
    free(folder);
}

void make_domain(const char *root, const char *domain, const char *name, const char *energy_uj,
                 const char *range_uj)
{
    put(root, domain, "name", name);
    if (energy_uj)
        put(root, domain, "energy_uj", energy_uj);
    if (range_uj)
        put(root, domain, "max_energy_range_uj", range_uj);
}

struct fake_gpu fake;

static int answer(bool missing)
{
    return missing || fake.lost ? 3 : 0; /* NVML_ERROR_NOT_SUPPORTED */
}

static int driver_version(char *out, unsigned size)
{
    snprintf(out, size, "580.159");
    return 0;
}

static int cuda_version(int *out)
{
    *out = 13010;
    return 0;
}

static int count(unsigned *out)
{
    *out = 2;
    return 0;
}

static int by_index(unsigned index, void **device)
{
    *device = &fake;
    return index == 1 ? 0 : 6; /* the tests' GPU is number 1: nothing may assume 0 */
}

static int name(void *device, char *out, unsigned size)
{
    (void)device;
    snprintf(out, size, "Fake H1");
    return 0;
}

static int uuid(void *device, char *out, unsigned size)
{
    (void)device;
    snprintf(out, size, "GPU-0123");
    return 0;
}

static int compute_mode(void *device, int *out)
{
    (void)device;
    *out = 3;
    return 0;
}

static int power_limit(void *device, unsigned *mw)
{
    (void)device;
    *mw = 700000;
    return 0;
}

static int memory(void *device, struct nvml_memory *out)
{
    (void)device;
    *out = (struct nvml_memory){.total = 80ull << 30, .used = fake.used_mib << 20};
    return answer(false);
}

/* The driver keeps 600 MiB for itself, which only this function tells apart. */
static int memory_v2(void *device, struct nvml_memory_v2 *out)
{
    (void)device;
    assert_int_equal(out->version, 0x2000028); /* 40 bytes, version 2 */
    out->total = 80ull << 30;
    out->reserved = 600ull << 20;
    out->used = (fake.used_mib - 600) << 20;
    return answer(!fake.has_memory_v2);
}

static int utilization(void *device, struct nvml_utilization *out)
{
    (void)device;
    *out = (struct nvml_utilization){fake.utilization, 7};
    return answer(false);
}

static int power(void *device, unsigned *mw)
{
    (void)device;
    fake.power_reads++;
    *mw = (unsigned)(fake.watts * 1000);
    return answer(fake.no_power);
}

static int fields(void *device, int n, struct nvml_field_value *values)
{
    (void)device;
    assert_int_equal(n, 1);
    assert_int_equal(values->field, 186);
    assert_int_equal(values->scope, 0);
    fake.power_reads++;
    values->value_type = 1;
    values->value.ui = (unsigned)(fake.watts * 1000);
    values->result = answer(fake.no_power || fake.no_fields);
    return 0;
}

static int energy(void *device, unsigned long long *mj)
{
    (void)device;
    fake.energy_reads++;
    const double j = 1e6 + (clock_now_s() - fake.born_s) * fake.watts * fake.counter_scale;
    *mj = (unsigned long long)((j + fake.counter_jump_j) * 1000);
    return answer(fake.no_counter);
}

static int sm_clock(void *device, int type, unsigned *mhz)
{
    (void)device;
    assert_int_equal(type, 1);
    *mhz = fake.sm_mhz;
    return answer(false);
}

static int temperature(void *device, int sensor, unsigned *celsius)
{
    (void)device;
    assert_int_equal(sensor, 0);
    *celsius = fake.temperature;
    return answer(false);
}

static int throttle(void *device, unsigned long long *reasons)
{
    (void)device;
    *reasons = fake.throttle;
    return answer(false);
}

void fake_install(void)
{
    static const struct nvml_table table = {
        .driver_version = driver_version,
        .cuda_version = cuda_version,
        .count = count,
        .by_index = by_index,
        .name = name,
        .uuid = uuid,
        .compute_mode = compute_mode,
        .power_limit = power_limit,
        .memory = memory,
        .memory_v2 = memory_v2,
        .utilization = utilization,
        .power = power,
        .fields = fields,
        .energy = energy,
        .clock = sm_clock,
        .temperature = temperature,
        .throttle = throttle,
    };
    fake = (struct fake_gpu){.watts = 100,
                             .counter_scale = 1,
                             .born_s = clock_now_s(),
                             .utilization = 50,
                             .temperature = 60,
                             .sm_mhz = 1500,
                             .used_mib = 1000,
                             .throttle = 4};
    nvml_set_table(&table);
}
