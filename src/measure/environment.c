#include "measure/environment.h"
#include "base/os.h"
#include "measure/nvml.h"
#include "measure/rapl.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#define MIB (1024.0 * 1024.0)

static void read_host(struct environment *env)
{
    struct utsname u;
    snprintf(env->cpu_model, sizeof env->cpu_model, "%s", os_cpu_model());
    env->cpu_cores = os_cpu_count();
    if (uname(&u) == 0) {
        snprintf(env->hostname, sizeof env->hostname, "%.127s", u.nodename);
        snprintf(env->os, sizeof env->os, "%.50s %.50s %.50s", u.sysname, u.release, u.machine);
    }
    const long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    env->ram_total_mb = pages > 0 && size > 0 ? (double)pages * (double)size / MIB : -1;
}

static void read_gpu(struct environment *env, int gpu)
{
    env->gpu_count = nvml_count();
    if (env->gpu_count == 0)
        snprintf(env->gpu_cause, sizeof env->gpu_cause, "%s",
                 nvml_available() ? "the NVIDIA driver sees no GPU" : nvml_cause());
    if (!nvml_driver_version(env->driver_version, sizeof env->driver_version))
        env->driver_version[0] = '\0';
    if (!nvml_cuda_version(env->cuda_version, sizeof env->cuda_version))
        env->cuda_version[0] = '\0';
    void *device = nvml_device(gpu);
    if (!device)
        return;
    double used;
    if (!nvml_name(device, env->gpu_name, sizeof env->gpu_name))
        env->gpu_name[0] = '\0';
    if (!nvml_uuid(device, env->gpu_uuid, sizeof env->gpu_uuid))
        env->gpu_uuid[0] = '\0';
    snprintf(env->compute_mode, sizeof env->compute_mode, "%s", nvml_compute_mode(device));
    if (!nvml_memory_mb(device, &used, &env->vram_total_mb))
        env->vram_total_mb = -1;
    if (!nvml_power_limit_w(device, &env->power_limit_w))
        env->power_limit_w = -1;
}

void environment_read(struct environment *env, int gpu)
{
    memset(env, 0, sizeof *env);
    env->vram_total_mb = env->power_limit_w = -1;
    read_host(env);
    read_gpu(env, gpu);
}

bool environment_host_energy(char *cause, size_t size)
{
    struct rapl r;
    rapl_open(&r, RAPL_ROOT);
    const bool readable = r.n > 0;
    snprintf(cause, size, "%s", r.cause);
    rapl_close(&r);
    return readable;
}
