/* fugue doctor: the checks, one function each. */
#include "base/env.h"
#include "base/os.h"
#include "catalog/registry.h"
#include "cli/doctor.h"
#include "cli/help.h"
#include "cli/list.h"
#include "cli/print.h"
#include "data/dataset.h"
#include "engine/engine.h"
#include "engine/support.h"
#include "fugue_version.h"
#include "measure/environment.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define GIB             (1024.0 * 1024.0 * 1024.0)
#define LITTLE_MEMORY   (1.0 * GIB)
#define LITTLE_DISK_MIB 100

/* What a check found; cure NULL: all is well. */
struct finding {
    struct text found;
    const char *cure;
    struct text more; /* the cure where it is no fixed text */
};

struct check {
    const char *name;
    void (*look)(struct finding *f);
};

/* ---- the machine ------------------------------------------------------------------------------
 */

static void look_build(struct finding *f)
{
    text_addf(&f->found, "fugue " FUGUE_VERSION ", build %s", os_build_id());
#ifndef __OPTIMIZE__
    text_add(&f->found, ", compiled without optimisation");
    f->cure = "its times mean nothing: build with -DCMAKE_BUILD_TYPE=Release, or by 'make'";
#endif
}

static void look_cpu(struct finding *f)
{
    text_add(&f->found, os_cpu_model());
}

static void look_cores(struct finding *f)
{
    const int usable = os_cpu_count();
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    text_addf(&f->found, "%d of %ld may be used", usable, online > usable ? online : (long)usable);
    if (usable < online)
        f->cure = "the others are kept from this process by its CPU affinity (taskset) or by a "
                  "container's CPU limit: lift that if they are meant to be used";
}

/* The sets of kernels beside the plain ones, best first. */
static void look_instructions(struct finding *f)
{
    struct error err = ERROR_INIT;
    struct engine *engine =
        engine_open(&(struct engine_options){.device = "cpu", .threads = 1}, &err);
    if (!engine) {
        text_add(&f->found, err.text);
        f->cure = "nothing can be trained until this is mended";
        return;
    }
    struct text sets;
    struct support_set set;
    const char *last = "";
    int n = 0;
    text_init(&sets);
    for (int i = 0; support_set_at(i, &set); i++)
        if (!set.is_reference && strcmp(set.backend, engine_device(engine)) == 0) {
            text_addf(&sets, "%s%s", n++ ? ", " : "", set.name);
            last = set.name;
        }
    text_addf(&f->found, "%s, of %s", engine_variant(engine), sets.data);
    if (n > 1 && strcmp(engine_variant(engine), last) == 0)
        f->cure = "this processor (or the virtual machine) lacks the vector instructions that the "
                  "faster kernels need; results are as good, training takes longer";
    text_release(&sets);
    engine_close(engine);
}

static void look_memory(struct finding *f)
{
    const double available = (double)os_available_memory();
    struct environment env;
    environment_read(&env, 0);
    char *left = list_bytes(available), *all = list_bytes(env.ram_total_mb * 1024 * 1024);
    text_addf(&f->found, "%s available of %s", available < 0 ? "unknown" : left,
              env.ram_total_mb < 0 ? "unknown" : all);
    if (available >= 0 && available < LITTLE_MEMORY)
        f->cure = "little: end other programs or raise the container's limit; 'fugue list' shows "
                  "what each experiment needs (MEM K), --max-parallel limits it";
    free(left);
    free(all);
}

static void look_gpu(struct finding *f)
{
    struct environment env;
    environment_read(&env, 0);
    if (env.gpu_count > 0) {
        text_addf(&f->found, "%d: %s%s; driver %s", env.gpu_count, env.gpu_name,
                  env.gpu_count > 1 ? ", ..." : "", env.driver_version);
        return;
    }
    text_addf(&f->found, "none: %s", env.gpu_cause);
    f->cure = "nothing to do unless this machine has an NVIDIA GPU: then install its driver. This "
              "version trains on the CPU";
}

static void look_energy(struct finding *f)
{
    char cause[128];
    if (environment_host_energy(cause, sizeof cause)) {
        text_add(&f->found, "the processor's counters (RAPL) can be read");
        return;
    }
    text_add(&f->found, cause);
    f->cure = "energy columns stay blank. Where the counters exist and only root may read them: "
              "sudo chmod a+r /sys/class/powercap/intel-rapl:*/energy_uj; virtual machines have "
              "none";
}

/* ---- folders ----------------------------------------------------------------------------------
 */

/* The folder itself, or the nearest one above it that exists; malloc'd. */
static char *existing_parent(const char *path)
{
    char *p = xstrdup(path);
    struct stat st;
    while (stat(p, &st) != 0) {
        char *slash = strrchr(p, '/');
        if (!slash || slash == p) {
            free(p);
            return xstrdup("/");
        }
        *slash = '\0';
    }
    return p;
}

static bool is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static void look_data(struct finding *f)
{
    const char *root = env_value(ENV_DATA_DIR);
    if (!is_folder(root)) {
        text_addf(&f->found, "%s is not there", root);
        f->cure = "digits is in the program and needs none. For other data sets create it, or let "
                  "FUGUE_DATA_DIR name the folder they are in";
    } else if (access(root, R_OK | X_OK) != 0) {
        text_addf(&f->found, "%s may not be read", root);
        f->cure = "change its permissions, or let FUGUE_DATA_DIR name another folder";
    } else {
        text_addf(&f->found, "%s%s", root, access(root, W_OK) == 0 ? "" : ", read-only");
    }
}

static void look_datasets(struct finding *f)
{
    struct text missing;
    struct error first = ERROR_INIT;
    text_init(&missing);
    for (int i = 0; data_table[i]; i++) {
        struct error err = ERROR_INIT;
        const char *name = data_table[i]->name;
        if (!data_table[i]->built || data_table[i]->path)
            continue;
        if (data_present(name, env_value(ENV_DATA_DIR), &err)) {
            text_addf(&f->found, "%s%s", f->found.len ? ", " : "", name);
            continue;
        }
        if (missing.len == 0)
            first = err;
        text_addf(&missing, "%s%s", missing.len ? ", " : "", name);
    }
    if (missing.len) {
        text_addf(&f->found, "; missing: %s", missing.data);
        text_add(&f->more, first.text);
        f->cure = f->more.data;
    }
    text_release(&missing);
}

static void look_results(struct finding *f)
{
    const char *runs = env_value(ENV_RUNS_DIR);
    char *parent = existing_parent(runs);
    struct statvfs disk;
    const bool new = strcmp(parent, runs) != 0;
    if (!is_folder(parent) || access(parent, W_OK | X_OK) != 0) {
        text_addf(&f->found, "%s cannot be %s", runs, new ? "created" : "written to");
        f->cure = "let FUGUE_RUNS_DIR name a folder that you may write to, or run with "
                  "--no-save-results";
    } else {
        text_addf(&f->found, "%s%s", runs, new ? " (will be created)" : "");
        if (statvfs(parent, &disk) == 0) {
            const double left = (double)disk.f_bavail * (double)disk.f_frsize;
            char *shown = list_bytes(left);
            text_addf(&f->found, ", %s free", shown);
            free(shown);
            if (left < LITTLE_DISK_MIB * 1024.0 * 1024.0)
                f->cure = "little: a full disk ends a run; free some, or let FUGUE_RUNS_DIR name a "
                          "folder elsewhere";
        }
    }
    free(parent);
}

static void look_registry(struct finding *f)
{
    struct registry registry;
    struct text_list problems;
    struct error err = ERROR_INIT;
    text_list_init(&problems);
    if (!registry_load_all(&registry, env_value(ENV_REGISTRY_DIR), &problems, &err)) {
        text_add(&f->found, err.text);
        f->cure = "no command that needs experiments works until that file is mended or moved away";
    } else {
        int32_t own = 0;
        for (int32_t i = 0; i < registry.n; i++)
            own += strcmp(registry.items[i]->source, "built-in") != 0;
        text_addf(&f->found, "%d built in, %d of your own", (int)(registry.n - own), (int)own);
        if (problems.n > 0) {
            text_addf(&f->found, ", %zu that cannot be read", problems.n);
            text_addf(&f->more, "%s ('fugue validate' shows all)", problems.items[0]);
            f->cure = f->more.data;
        }
        registry_release(&registry);
    }
    text_list_release(&problems);
}

static void look_variables(struct finding *f)
{
    const char *unknown = env_unknown();
    if (!unknown) {
        text_add(&f->found, "no FUGUE_ variable that fugue does not know");
        return;
    }
    text_addf(&f->found, "%.*s is set, and fugue has no such variable", (int)strcspn(unknown, "="),
              unknown);
    f->cure = "'fugue env' shows those it has: correct the name, or unset it";
}

static const struct check checks[] = {
    {"build", look_build},          {"processor", look_cpu},
    {"cores", look_cores},          {"instruction set", look_instructions},
    {"memory", look_memory},        {"GPU", look_gpu},
    {"energy", look_energy},        {"data folder", look_data},
    {"data sets", look_datasets},   {"results folder", look_results},
    {"experiments", look_registry}, {"variables", look_variables},
};
#define N_CHECKS (sizeof checks / sizeof *checks)

/* ---- printing ---------------------------------------------------------------------------------
 */

#define FOUND_COLUMN 26

static void print_finding(FILE *out, const char *name, const struct finding *f)
{
    const int width = help_width(out);
    const int column = fprintf(out, "%-7s  %s", f->cure ? "warning" : "ok", name);
    help_wrap(out, f->found.data, FOUND_COLUMN, column, width);
    if (!f->cure)
        return;
    char *cure = xasprintf("cure: %s", f->cure);
    help_wrap(out, cure, FOUND_COLUMN, 0, width);
    free(cure);
}

void doctor_print_checks(FILE *out, bool json)
{
    json_t *list = json_array();
    int warnings = 0;
    for (size_t i = 0; i < N_CHECKS; i++) {
        struct finding f = {.cure = NULL};
        text_init(&f.found);
        text_init(&f.more);
        checks[i].look(&f);
        warnings += f.cure != NULL;
        if (json)
            json_array_append_new(list, json_pack("{s:s,s:s,s:s,s:s?}", "name", checks[i].name,
                                                  "status", f.cure ? "warning" : "ok", "found",
                                                  f.found.data, "cure", f.cure));
        else
            print_finding(out, checks[i].name, &f);
        text_release(&f.more);
        text_release(&f.found);
    }
    if (json) {
        json_t *all = json_pack("{s:i,s:O}", "warnings", warnings, "checks", list);
        print_json(out, all);
        json_decref(all);
    } else {
        fprintf(out, "\n%zu checks, %d warning%s\n", N_CHECKS, warnings, warnings == 1 ? "" : "s");
    }
    json_decref(list);
}
