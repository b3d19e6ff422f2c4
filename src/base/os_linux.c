#include "base/file.h"
#include "base/os.h"
#include "base/os_cgroup.h"
#include "base/os_internal.h"
#include "base/text.h"

#include <errno.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static char executable[PATH_MAX];
static char build_id[2 * 64 + 1] = "unknown";
static char cpu_model[128] = "unknown";
/* The cores of the process as it started: a thread that pinned itself sees only its own later. */
static cpu_set_t cores[sizeof(((struct os_affinity *)0)->saved) / sizeof(cpu_set_t)];
static int n_cores;

static pthread_once_t once_executable = PTHREAD_ONCE_INIT;
static pthread_once_t once_build_id = PTHREAD_ONCE_INIT;
static pthread_once_t once_cpu_model = PTHREAD_ONCE_INIT;
static pthread_once_t once_cores = PTHREAD_ONCE_INIT;

static void find_executable(void)
{
    static const char deleted[] = " (deleted)";
    const ssize_t n = readlink("/proc/self/exe", executable, sizeof executable - 1);
    size_t len = n > 0 ? (size_t)n : 0;
    /* Replaced by a newer build while running: the name stays, and the build id tells a child that
     * it is another binary. */
    if (len > sizeof deleted &&
        memcmp(executable + len - (sizeof deleted - 1), deleted, sizeof deleted - 1) == 0)
        len -= sizeof deleted - 1;
    executable[len] = '\0';
}

const char *os_executable(void)
{
    pthread_once(&once_executable, find_executable);
    return executable[0] ? executable : NULL;
}

/* The note "GNU" of type NT_GNU_BUILD_ID in one PT_NOTE segment. */
static bool find_note(const unsigned char *p, size_t size)
{
    while (size >= sizeof(ElfW(Nhdr))) {
        ElfW(Nhdr) head;
        memcpy(&head, p, sizeof head);
        const size_t name = ((size_t)head.n_namesz + 3) & ~(size_t)3;
        const size_t desc = ((size_t)head.n_descsz + 3) & ~(size_t)3;
        if (sizeof head + name + desc > size)
            return false;
        const unsigned char *id = p + sizeof head + name;
        if (head.n_type == NT_GNU_BUILD_ID && head.n_namesz == 4 &&
            memcmp(p + sizeof head, "GNU", 4) == 0 && head.n_descsz > 0) {
            for (size_t i = 0; i < head.n_descsz && 2 * i + 2 < sizeof build_id; i++)
                snprintf(build_id + 2 * i, 3, "%02x", (unsigned)id[i]);
            return true;
        }
        p += sizeof head + name + desc;
        size -= sizeof head + name + desc;
    }
    return false;
}

/* The first object that the loader reports is the program itself. */
static int look_at_program(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size;
    (void)unused;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type != PT_NOTE)
            continue;
        const uintptr_t at = info->dlpi_addr + segment->p_vaddr;
        /* The loader tells addresses as integers. NOLINTNEXTLINE(performance-no-int-to-ptr) */
        const unsigned char *note = (const unsigned char *)at;
        if (find_note(note, segment->p_memsz))
            break;
    }
    return 1;
}

static void find_build_id(void)
{
    dl_iterate_phdr(look_at_program, NULL);
}

const char *os_build_id(void)
{
    pthread_once(&once_build_id, find_build_id);
    return build_id;
}

static void find_cores(void)
{
    /* The first thread's own mask is the process's; asked for by pid, so that a pinned thread that
     * comes here first does no harm. */
    if (sched_getaffinity(getpid(), sizeof cores, cores) != 0) {
        const long n = sysconf(_SC_NPROCESSORS_ONLN);
        n_cores = n > 0 ? (int)n : 1;
        for (int i = 0; i < n_cores; i++)
            CPU_SET_S(i, sizeof cores, cores);
        return;
    }
    n_cores = CPU_COUNT_S(sizeof cores, cores);
}

int os_cpu_count(void)
{
    pthread_once(&once_cores, find_cores);
    const double quota = cgroup_cpu_quota(CGROUP_MEMBERSHIP, CGROUP_ROOT);
    int n = n_cores;
    /* Rounded up: one and a half cores are used by two threads. */
    if (quota > 0 && quota < n)
        n = (int)quota < quota ? (int)quota + 1 : (int)quota;
    return n > 0 ? n : 1;
}

bool os_pin_thread(int i)
{
    pthread_once(&once_cores, find_cores);
    if (i < 0 || n_cores < 1)
        return false;
    int left = i % n_cores;
    for (size_t cpu = 0; cpu < 8 * sizeof cores; cpu++) {
        if (!CPU_ISSET_S(cpu, sizeof cores, cores) || left-- > 0)
            continue;
        cpu_set_t one[sizeof cores / sizeof *cores];
        CPU_ZERO_S(sizeof one, one);
        CPU_SET_S(cpu, sizeof one, one);
        return sched_setaffinity(0, sizeof one, one) == 0;
    }
    return false;
}

void os_unpin_for_spawn(struct os_affinity *a)
{
    cpu_set_t now[sizeof cores / sizeof *cores];
    pthread_once(&once_cores, find_cores);
    a->changed = sched_getaffinity(0, sizeof now, now) >= 0 &&
                 !CPU_EQUAL_S(sizeof now, now, cores) &&
                 sched_setaffinity(0, sizeof cores, cores) == 0;
    memcpy(a->saved, now, sizeof now);
}

void os_repin_after_spawn(const struct os_affinity *a)
{
    cpu_set_t saved[sizeof cores / sizeof *cores];
    memcpy(saved, a->saved, sizeof saved);
    if (a->changed)
        sched_setaffinity(0, sizeof saved, saved);
}

/* The text after "KEY<blanks>:<blanks>" of the first line that starts with key, malloc'd. */
static char *proc_value(const char *path, const char *key)
{
    char *text, *found = NULL;
    size_t len;
    if (!file_read(path, (size_t)16 << 20, &text, &len, NULL))
        return NULL;
    const size_t n = strlen(key);
    for (char *line = text; line && !found; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, n) != 0)
            continue;
        char *value = line + n + strspn(line + n, " \t");
        if (*value != ':')
            continue;
        value += 1 + strspn(value + 1, " \t");
        found = xasprintf("%.*s", (int)strcspn(value, "\n"), value);
    }
    free(text);
    return found;
}

static void find_cpu_model(void)
{
    char *model = proc_value("/proc/cpuinfo", "model name");
    if (model && *model)
        snprintf(cpu_model, sizeof cpu_model, "%s", model);
    free(model);
}

const char *os_cpu_model(void)
{
    pthread_once(&once_cpu_model, find_cpu_model);
    return cpu_model;
}

/* "KEY:  1234 kB" in bytes, -1 when it is not there. */
static int64_t proc_kib(const char *path, const char *key)
{
    char *value = proc_value(path, key);
    int64_t kib = -1;
    if (value) {
        value[strcspn(value, " ")] = '\0';
        if (!text_to_int64(value, &kib) || kib < 0 || kib > INT64_MAX / 1024)
            kib = -1;
    }
    free(value);
    return kib < 0 ? -1 : kib * 1024;
}

static int64_t status_bytes(pid_t pid, const char *key)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/status", (long)(pid > 0 ? pid : getpid()));
    return proc_kib(path, key);
}

/* Not getrusage: its ru_maxrss outlives exec, so a small child of a large parent would report its
 * parent's peak. */
int64_t os_peak_rss(pid_t pid)
{
    return status_bytes(pid, "VmHWM");
}

int64_t os_current_rss(pid_t pid)
{
    return status_bytes(pid, "VmRSS");
}

int64_t os_available_memory(void)
{
    const int64_t machine = proc_kib("/proc/meminfo", "MemAvailable");
    const int64_t group = cgroup_memory_left(CGROUP_MEMBERSHIP, CGROUP_ROOT);
    if (machine < 0 || group < 0)
        return machine < 0 ? group : machine;
    return group < machine ? group : machine;
}

uint64_t os_process_start_time(pid_t pid)
{
    char path[64], *text;
    size_t len;
    snprintf(path, sizeof path, "/proc/%ld/stat", (long)(pid > 0 ? pid : getpid()));
    if (!file_read(path, 65536, &text, &len, NULL))
        return 0;
    /* Field 22; the name, field 2, may hold blanks and brackets of its own. */
    char *p = strrchr(text, ')');
    for (int field = 2; p && field < 22; field++) {
        p = strchr(p, ' ');
        p = p ? p + 1 : NULL;
    }
    uint64_t start = 0;
    if (p) {
        p[strcspn(p, " ")] = '\0';
        if (!text_to_uint64(p, &start))
            start = 0;
    }
    free(text);
    return start;
}

int os_open_pidfd(pid_t pid)
{
#ifdef SYS_pidfd_open
    /* Close-on-exec by itself. */
    return (int)syscall(SYS_pidfd_open, pid, 0);
#else
    (void)pid;
    return -1;
#endif
}

void os_become_subreaper(void)
{
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

void os_die_with_parent(void)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    /* The parent may have ended before that call: then nothing would ever come. */
    const int alive = os_parent_is_alive();
    if (alive == 0 || (alive < 0 && getppid() == 1))
        raise(SIGKILL);
}
