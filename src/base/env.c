#include "base/env.h"
#include "base/file.h"
#include "base/os.h"
#include "base/text.h"
#include "fugue_version.h"

#include <pthread.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef __APPLE__
extern char **environ; /* which Darwin has but does not declare */
#endif

const struct env_var env_vars[ENV_COUNT] = {
    [ENV_DATA_DIR] = {"FUGUE_DATA_DIR", "folder of the data sets", ENV_PATH},
    [ENV_RUNS_DIR] = {"FUGUE_RUNS_DIR", "folder of the results", ENV_PATH},
    [ENV_REGISTRY_DIR] = {"FUGUE_REGISTRY_DIR", "folder of your own experiments.json", ENV_PATH},
    [ENV_FIGS_DIR] = {"FUGUE_FIGS_DIR", "folder of the figures", ENV_PATH},
    [ENV_OFFLINE] = {"FUGUE_OFFLINE", "1, true, yes or on forbids downloads", ENV_SWITCH},
    [ENV_MIRROR] = {"FUGUE_MIRROR",
                    "base URLs 'fugue prefetch' asks instead of the publishers', by blanks",
                    ENV_TEXT},
    [ENV_DEVICE] = {"FUGUE_DEVICE",
                    "what runs without --device and --gpu train on: auto, cpu or cuda", ENV_TEXT},
};

/* Where the folders are by default: below the source folder in a build tree; else below `base` (the
 * variable, or the folder of the home directory that it stands for; NULL: the working folder). */
static const struct {
    const char *in_tree;
    const char *base, *base_in_home;
    const char *installed;
} defaults[ENV_COUNT] = {
    [ENV_DATA_DIR] = {"data", "XDG_CACHE_HOME", ".cache", "fugue/data"},
    [ENV_RUNS_DIR] = {"runs", NULL, NULL, "runs"},
    [ENV_REGISTRY_DIR] = {"registry", "XDG_DATA_HOME", ".local/share", "fugue"},
    [ENV_FIGS_DIR] = {"figs", NULL, NULL, "figs"},
};

/* What was resolved.  Every string ever given out is kept: callers hold on to them. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct text_list kept;
static struct {
    const char *value, *source;
} resolved[ENV_COUNT];

static const char *keep(char *owned)
{
    text_list_add(&kept, owned);
    free(owned);
    return kept.items[kept.n - 1];
}

/* malloc'd copy without blanks around; NULL when unset or blank. */
static char *stripped(const char *name)
{
    static const char blanks[] = " \t\r\n\v\f";
    const char *s = getenv(name);
    if (!s)
        return NULL;
    s += strspn(s, blanks);
    size_t n = strlen(s);
    while (n > 0 && strchr(blanks, s[n - 1]))
        n--;
    return n > 0 ? xasprintf("%.*s", (int)n, s) : NULL;
}

static char *home_dir(void)
{
    char *home = stripped("HOME");
    if (home)
        return home;
    const struct passwd *user = getpwuid(getuid());
    return xstrdup(user && user->pw_dir ? user->pw_dir : "/");
}

/* Absolute and without "//", "." and ".." (by name, as Python's abspath does).  Where the working
 * folder is gone (removed while a shell stood in it) a relative path stays as it is: opening it
 * then fails with a reason, and nothing is written elsewhere.  Consumes path. */
static char *absolute(char *path)
{
    if (path[0] != '/') {
        char *cwd = getcwd(NULL, 0);
        if (!cwd)
            return path;
        char *joined = path_join(cwd, path);
        free(cwd);
        free(path);
        path = joined;
    }
    struct text_list parts;
    text_list_init(&parts);
    text_split(&parts, path, '/');
    struct text out;
    text_init(&out);
    for (size_t i = 0; i < parts.n; i++) {
        const char *part = parts.items[i];
        if (strcmp(part, "..") == 0) {
            char *slash = strrchr(out.data, '/');
            out.len = slash ? (size_t)(slash - out.data) : 0;
            out.data[out.len] = '\0';
        } else if (*part && strcmp(part, ".") != 0) {
            text_addf(&out, "/%s", part);
        }
    }
    text_list_release(&parts);
    free(path);
    if (out.len == 0)
        text_add(&out, "/");
    char *result = text_take(&out);
    text_release(&out);
    return result;
}

/* "~" and "~/..." mean the home directory.  Consumes value. */
static char *expanded(char *value)
{
    if (value[0] != '~' || (value[1] != '\0' && value[1] != '/'))
        return value;
    char *home = home_dir(), *path = xasprintf("%s%s", home, value + 1);
    free(home);
    free(value);
    return path;
}

static bool truthy(const char *value)
{
    static const char *const yes[] = {"1", "true", "yes", "on"};
    for (size_t i = 0; i < sizeof yes / sizeof *yes; i++)
        if (text_equal_nocase(value, yes[i]))
            return true;
    return false;
}

/* Is the running executable inside the tree it was built from, and is that still a source tree? */
static bool in_build_tree(void)
{
    const char *program = os_executable();
    char *list = path_join(FUGUE_SOURCE_DIR, "CMakeLists.txt");
    char *source = realpath(FUGUE_SOURCE_DIR, NULL);
    char *real = program ? realpath(program, NULL) : NULL;
    const size_t n = source ? strlen(source) : 0;
    const bool inside =
        file_exists(list) && real && n > 0 && strncmp(real, source, n) == 0 && real[n] == '/';
    free(real);
    free(source);
    free(list);
    return inside;
}

/* malloc'd default of a folder when installed. */
static char *installed_default(enum env_id id)
{
    char *base;
    if (!defaults[id].base) {
        base = xstrdup(".");
    } else {
        base = stripped(defaults[id].base);
        /* The XDG specification: a path that is not absolute is to be ignored. */
        if (base && base[0] != '/') {
            free(base);
            base = NULL;
        }
        if (!base) {
            char *home = home_dir();
            base = path_join(home, defaults[id].base_in_home);
            free(home);
        }
    }
    char *path = path_join(base, defaults[id].installed);
    free(base);
    return path;
}

static void resolve(enum env_id id)
{
    char *value = stripped(env_vars[id].name);
    resolved[id].source = value ? "environment" : "default";
    if (env_vars[id].kind == ENV_TEXT) {
        resolved[id].value = keep(value ? value : xstrdup(""));
        return;
    }
    if (env_vars[id].kind == ENV_SWITCH) {
        resolved[id].value = value && truthy(value) ? "1" : "0";
        free(value);
        return;
    }
    if (value) {
        value = expanded(value);
    } else if (in_build_tree()) {
        resolved[id].source = "build tree";
        value = path_join(FUGUE_SOURCE_DIR, defaults[id].in_tree);
    } else {
        value = installed_default(id);
    }
    resolved[id].value = keep(absolute(value));
}

const char *env_value(enum env_id id)
{
    pthread_mutex_lock(&lock);
    if (!resolved[id].value)
        resolve(id);
    const char *value = resolved[id].value;
    pthread_mutex_unlock(&lock);
    return value;
}

const char *env_source(enum env_id id)
{
    env_value(id);
    return resolved[id].source;
}

bool env_offline(void)
{
    return env_value(ENV_OFFLINE)[0] == '1';
}

void env_reset(void)
{
    pthread_mutex_lock(&lock);
    memset(resolved, 0, sizeof resolved);
    pthread_mutex_unlock(&lock);
}

static bool is_known(const char *entry)
{
    const size_t n = strcspn(entry, "=");
    for (int i = 0; i < ENV_COUNT; i++)
        if (strlen(env_vars[i].name) == n && strncmp(entry, env_vars[i].name, n) == 0)
            return true;
    return false;
}

const char *env_unknown(void)
{
    for (char **e = environ; *e; e++)
        if (text_starts_with(*e, "FUGUE_") && !text_starts_with(*e, "FUGUE_TEST_") && !is_known(*e))
            return *e;
    return NULL;
}
