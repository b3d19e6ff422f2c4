/* fugue env: the folders and switches taken from the environment. */
#include "base/env.h"
#include "base/log.h"
#include "cli/commands.h"
#include "cli/print.h"

#include <string.h>

enum { OPT_JSON };

static const struct option options[] = {
    [OPT_JSON] = {.name = "--json", .type = OPTION_SWITCH, .help = "as one JSON object"},
};

static void print_as_json(void)
{
    json_t *all = json_object();
    for (int i = 0; i < ENV_COUNT; i++)
        json_object_set_new(all, env_vars[i].name,
                            json_pack("{s:s,s:s,s:s}", "value", env_value(i), "source",
                                      env_source(i), "meaning", env_vars[i].meaning));
    print_json(stdout, all);
    json_decref(all);
}

static void print_as_table(void)
{
    struct table t;
    print_table_init(&t, 4);
    print_table_add(&t, "VARIABLE");
    print_table_add(&t, "VALUE");
    print_table_add(&t, "FROM");
    print_table_add(&t, "MEANING");
    for (int i = 0; i < ENV_COUNT; i++) {
        print_table_add(&t, env_vars[i].name);
        print_table_add(&t, env_value(i));
        print_table_add(&t, env_source(i));
        print_table_add(&t, env_vars[i].meaning);
    }
    print_table_show(&t, stdout);
    print_table_release(&t);
}

void warn_unknown_variable(void)
{
    const char *names[ENV_COUNT];
    const char *unknown = env_unknown();
    if (!unknown)
        return;
    for (int i = 0; i < ENV_COUNT; i++)
        names[i] = env_vars[i].name;
    char *name = xasprintf("%.*s", (int)strcspn(unknown, "="), unknown);
    log_once(LOG_WARNING, "%s is set, but fugue has no such variable%s", name,
             text_did_you_mean(name, names, ENV_COUNT));
    free(name);
}

static int run(const struct option_value *values, const struct text_list *words, struct error *err)
{
    (void)words;
    (void)err;
    warn_unknown_variable();
    if (values[OPT_JSON].given)
        print_as_json();
    else
        print_as_table();
    return 0;
}

const struct command command_env = {
    .name = "env",
    .summary = "Show the environment variables fugue reads, their values and where those are from.",
    .usage = "fugue env [--json]",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .details =
        "FROM is \"environment\" (the variable is set), \"build tree\" (fugue runs from where "
        "it was built and uses that folder) or \"default\". A blank variable counts as unset.",
    .run = run,
};
