/* The FUGUE_* environment variables and the folders they name: declared once as a table, from
 * which `fugue env`, the manual and every path come.
 *
 * Defaults (reference runtime.md section 0): a binary inside its build tree (the build stamps the
 * source folder into it, and that folder still holds CMakeLists.txt and the running executable)
 * uses <repo>/data, runs, registry, figs.  An installed one uses $XDG_CACHE_HOME/fugue/data
 * (~/.cache/fugue/data), <cwd>/runs, $XDG_DATA_HOME/fugue (~/.local/share/fugue), <cwd>/figs.
 * Values are stripped, "~" and "~/" expanded and made absolute (as long as the working folder
 * exists); blank is unset.
 */
#ifndef BASE_ENV_H
#define BASE_ENV_H

#include <stdbool.h>
#include <stddef.h>

enum env_id {
    ENV_DATA_DIR,
    ENV_RUNS_DIR,
    ENV_REGISTRY_DIR,
    ENV_FIGS_DIR,
    ENV_OFFLINE,
    ENV_MIRROR,
    ENV_DEVICE,
    ENV_COUNT
};

struct env_var {
    const char *name;    /* FUGUE_DATA_DIR */
    const char *meaning; /* one line */
    enum { ENV_PATH, ENV_SWITCH, ENV_TEXT } kind;
};
extern const struct env_var env_vars[ENV_COUNT];

/* Resolved value, in a buffer that lives as long as the process.  For FUGUE_OFFLINE "1" or "0"
 * (truthy: 1, true, yes, on, any case); FUGUE_MIRROR and FUGUE_DEVICE as they are, "" when unset.
 */
const char *env_value(enum env_id id);
/* "environment", "build tree" or "default". */
const char *env_source(enum env_id id);
bool env_offline(void);
/* Forgets resolved values (tests change the environment). */
void env_reset(void);

/* Any set variable that starts with FUGUE_ and is in no table: a likely typing error; NULL when
 * none.  Points into the environment ("FUGUE_DATADIR=..."). */
const char *env_unknown(void);

#endif
