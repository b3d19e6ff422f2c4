/* The Darwin twin of os_linux.c.  Written against Apple's documented interfaces. */
#include "base/os.h"
#include "base/os_internal.h"

#include <libproc.h>
#include <limits.h>
#include <mach-o/dyld.h>
#include <mach-o/loader.h>
#include <mach/mach.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/sysctl.h>
#include <unistd.h>

static char executable[PATH_MAX];
static char build_id[2 * 16 + 1] = "unknown";
static char cpu_model[128] = "unknown";

static pthread_once_t once_executable = PTHREAD_ONCE_INIT;
static pthread_once_t once_build_id = PTHREAD_ONCE_INIT;
static pthread_once_t once_cpu_model = PTHREAD_ONCE_INIT;

static void find_executable(void)
{
    char raw[PATH_MAX];
    uint32_t size = sizeof raw;
    if (_NSGetExecutablePath(raw, &size) != 0 || !realpath(raw, executable))
        executable[0] = '\0';
}

const char *os_executable(void)
{
    pthread_once(&once_executable, find_executable);
    return executable[0] ? executable : NULL;
}

/* The load command LC_UUID of image 0, the program. */
static void find_build_id(void)
{
    const struct mach_header *head = _dyld_get_image_header(0);
    if (!head || head->magic != MH_MAGIC_64)
        return;
    const unsigned char *p = (const unsigned char *)head + sizeof(struct mach_header_64);
    for (uint32_t i = 0; i < head->ncmds; i++) {
        struct load_command command;
        memcpy(&command, p, sizeof command);
        if (command.cmd == LC_UUID) {
            struct uuid_command uuid;
            memcpy(&uuid, p, sizeof uuid);
            for (size_t j = 0; j < sizeof uuid.uuid; j++)
                snprintf(build_id + 2 * j, 3, "%02x", (unsigned)uuid.uuid[j]);
            return;
        }
        p += command.cmdsize;
    }
}

const char *os_build_id(void)
{
    pthread_once(&once_build_id, find_build_id);
    return build_id;
}

int os_cpu_count(void)
{
    const long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (int)n : 1;
}

/* Darwin has no call that binds a thread to a core. */
bool os_pin_thread(int i)
{
    (void)i;
    return false;
}

void os_unpin_for_spawn(struct os_affinity *a)
{
    a->changed = false;
}

void os_repin_after_spawn(const struct os_affinity *a)
{
    (void)a;
}

static void find_cpu_model(void)
{
    char model[sizeof cpu_model] = "";
    size_t size = sizeof model - 1;
    if (sysctlbyname("machdep.cpu.brand_string", model, &size, NULL, 0) == 0 && model[0])
        snprintf(cpu_model, sizeof cpu_model, "%s", model);
}

const char *os_cpu_model(void)
{
    pthread_once(&once_cpu_model, find_cpu_model);
    return cpu_model;
}

static bool resource_usage(pid_t pid, struct rusage_info_v2 *usage)
{
    return proc_pid_rusage(pid > 0 ? pid : getpid(), RUSAGE_INFO_V2, (rusage_info_t *)usage) == 0;
}

int64_t os_peak_rss(pid_t pid)
{
    /* Only the process itself has a documented peak: ru_maxrss, in bytes here. */
    struct rusage usage;
    if ((pid > 0 && pid != getpid()) || getrusage(RUSAGE_SELF, &usage) != 0)
        return -1;
    return usage.ru_maxrss;
}

int64_t os_current_rss(pid_t pid)
{
    struct rusage_info_v2 usage;
    return resource_usage(pid, &usage) ? (int64_t)usage.ri_resident_size : -1;
}

int64_t os_available_memory(void)
{
    vm_statistics64_data_t vm;
    mach_msg_type_number_t count = HOST_VM_INFO64_COUNT;
    const mach_port_t host = mach_host_self();
    vm_size_t page = 0;
    const bool ok =
        host_page_size(host, &page) == KERN_SUCCESS &&
        host_statistics64(host, HOST_VM_INFO64, (host_info64_t)&vm, &count) == KERN_SUCCESS;
    mach_port_deallocate(mach_task_self(), host);
    if (!ok)
        return -1;
    return ((int64_t)vm.free_count + (int64_t)vm.inactive_count) * (int64_t)page;
}

/* Microseconds since 1970 rather than ticks since boot: it names a process just as well. */
uint64_t os_process_start_time(pid_t pid)
{
    struct proc_bsdinfo info;
    const int got =
        proc_pidinfo(pid > 0 ? pid : getpid(), PROC_PIDTBSDINFO, 0, &info, (int)sizeof info);
    if (got != (int)sizeof info)
        return 0;
    return info.pbi_start_tvsec * 1000000u + info.pbi_start_tvusec;
}

/* os_wait polls instead. */
int os_open_pidfd(pid_t pid)
{
    (void)pid;
    return -1;
}

void os_become_subreaper(void)
{
}

void os_die_with_parent(void)
{
    /* The end of file on the channel tells later; here only what has happened already counts. */
    const int alive = os_parent_is_alive();
    if (alive == 0 || (alive < 0 && getppid() == 1))
        raise(SIGKILL);
}
