#include "base/os_cgroup.h"
#include "base/file.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

#define SMALL_FILE 65536

/* First line of a control file, malloc'd; false when it is not there. */
static bool read_line(const char *folder, const char *file, char **line)
{
    char *path = path_join(folder, file);
    size_t len;
    const bool ok = file_read(path, SMALL_FILE, line, &len, NULL);
    if (ok)
        (*line)[strcspn(*line, "\n")] = '\0';
    free(path);
    return ok;
}

/* A control file that holds one number; false for "max" and where there is none. */
static bool read_number(const char *folder, const char *file, int64_t *out)
{
    char *line;
    if (!read_line(folder, file, &line))
        return false;
    const bool ok = text_to_int64(line, out);
    free(line);
    return ok;
}

/* "key 123" in memory.stat; 0 when it is not there. */
static int64_t read_stat(const char *folder, const char *key)
{
    char *path = path_join(folder, "memory.stat"), *text;
    size_t len;
    int64_t value = 0;
    if (file_read(path, SMALL_FILE, &text, &len, NULL)) {
        struct text_list lines;
        text_list_init(&lines);
        text_split(&lines, text, '\n');
        const size_t n = strlen(key);
        for (size_t i = 0; i < lines.n; i++)
            if (strncmp(lines.items[i], key, n) == 0 && lines.items[i][n] == ' ')
                text_to_int64(lines.items[i] + n + 1, &value);
        text_list_release(&lines);
        free(text);
    }
    free(path);
    return value;
}

/* Called with a group's folder; keeps the smallest in *least. */
typedef void (*group_fn)(const char *folder, double *least);

static void keep_least(double *least, double v)
{
    if (*least < 0 || v < *least)
        *least = v;
}

static void cpu_v2(const char *folder, double *least)
{
    char *line;
    if (!read_line(folder, "cpu.max", &line))
        return;
    char *blank = strchr(line, ' ');
    int64_t quota, period;
    if (blank) {
        *blank = '\0';
        if (text_to_int64(line, &quota) && text_to_int64(blank + 1, &period) && quota > 0 &&
            period > 0)
            keep_least(least, (double)quota / (double)period);
    }
    free(line);
}

static void cpu_v1(const char *folder, double *least)
{
    int64_t quota, period;
    if (read_number(folder, "cpu.cfs_quota_us", &quota) &&
        read_number(folder, "cpu.cfs_period_us", &period) && quota > 0 && period > 0)
        keep_least(least, (double)quota / (double)period);
}

static void memory_left(const char *folder, const char *limit_file, const char *used_file,
                        const char *droppable, double *least)
{
    int64_t limit, used;
    if (!read_number(folder, limit_file, &limit) || !read_number(folder, used_file, &used))
        return;
    used -= read_stat(folder, droppable);
    if (used < 0)
        used = 0;
    keep_least(least, limit > used ? (double)(limit - used) : 0);
}

static void memory_v2(const char *folder, double *least)
{
    memory_left(folder, "memory.max", "memory.current", "inactive_file", least);
}

static void memory_v1(const char *folder, double *least)
{
    memory_left(folder, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file",
                least);
}

/* The group and all above it.  In a container the path may name folders that only the host sees:
 * those read as "no limit", and the root, which is always tried, is the container's own group. */
static void walk_up(const char *mount, const char *group, group_fn fn, double *least)
{
    char *folder = xasprintf("%s%s", mount, group);
    const size_t stop = strlen(mount);
    for (;;) {
        size_t n = strlen(folder);
        while (n > stop && folder[n - 1] == '/')
            folder[--n] = '\0';
        fn(folder, least);
        if (n <= stop)
            break;
        *strrchr(folder, '/') = '\0';
    }
    free(folder);
}

static bool has_controller(const char *list, const char *name)
{
    struct text_list names;
    text_list_init(&names);
    text_split(&names, list, ',');
    const bool found = text_list_has(&names, name);
    text_list_release(&names);
    return found;
}

/* One line "ID:CONTROLLERS:PATH"; no controllers means version 2. */
static void look_at_line(char *line, const char *root, const char *controller, group_fn v1,
                         group_fn v2, double *least)
{
    char *list = strchr(line, ':');
    char *group = list ? strchr(list + 1, ':') : NULL;
    if (!group)
        return;
    *group++ = '\0';
    list++;
    if (*list == '\0') {
        char *unified = path_join(root, "unified");
        walk_up(root, group, v2, least);
        walk_up(unified, group, v2, least);
        free(unified);
    } else if (has_controller(list, controller)) {
        /* Mounted under the controller's own name or under the list ("cpu,cpuacct"). */
        char *by_name = path_join(root, controller), *by_list = path_join(root, list);
        walk_up(by_name, group, v1, least);
        walk_up(by_list, group, v1, least);
        free(by_list);
        free(by_name);
    }
}

/* -1 when nothing limits. */
static double least_limit(const char *membership, const char *root, const char *controller,
                          group_fn v1, group_fn v2)
{
    char *text;
    size_t len;
    double least = -1;
    if (!file_read(membership, SMALL_FILE, &text, &len, NULL))
        return -1;
    struct text_list lines;
    text_list_init(&lines);
    text_split(&lines, text, '\n');
    for (size_t i = 0; i < lines.n; i++)
        look_at_line(lines.items[i], root, controller, v1, v2, &least);
    text_list_release(&lines);
    free(text);
    return least;
}

double cgroup_cpu_quota(const char *membership, const char *root)
{
    const double least = least_limit(membership, root, "cpu", cpu_v1, cpu_v2);
    return least > 0 ? least : 0;
}

int64_t cgroup_memory_left(const char *membership, const char *root)
{
    const double least = least_limit(membership, root, "memory", memory_v1, memory_v2);
    return least >= 0 ? (int64_t)least : -1;
}
