/* fugue doctor --ops: asked of the tables of operations and kernels, so that it cannot say more
 * than they hold. */
#include "cli/doctor.h"
#include "cli/print.h"
#include "engine/support.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static int count_sets(void)
{
    struct support_set set;
    int n = 0;
    while (support_set_at(n, &set))
        n++;
    return n;
}

/* Steps of an operation that a set has kernels of its own for. */
static int count_kernels(int set, enum op_kind op)
{
    int n = 0;
    for (int s = 0; s < support_steps(op); s++)
        n += support_kernel(set, op, s) != NULL;
    return n;
}

/* What a backend can do with an operation; its reference is set `reference`. */
static const char *status_of(int reference, enum op_kind op)
{
    const int n = count_kernels(reference, op);
    if (n < support_steps(op))
        return n == 0 ? "no kernels" : "incomplete";
    return "trains";
}

/* The set of its backend that runs on this machine: the best usable one. */
static bool is_chosen(int which)
{
    struct support_set set, other;
    if (!support_set_at(which, &set) || set.is_reference || !set.is_usable)
        return false;
    for (int i = 0; i < which; i++)
        if (support_set_at(i, &other) && strcmp(other.backend, set.backend) == 0 &&
            !other.is_reference && other.is_usable)
            return false;
    return true;
}

/* ---- for people -------------------------------------------------------------------------------
 */

static void add_upper(struct table *t, const char *a, const char *b)
{
    char *name = xasprintf("%s%s", a, b);
    for (char *c = name; *c; c++)
        *c = (char)toupper((unsigned char)*c);
    print_table_add(t, name);
    free(name);
}

/* A backend's reference stands first: the column of its status goes before it. */
static void add_headings(struct table *t, int n_sets)
{
    print_table_add(t, "OPERATION");
    for (int i = 0; i < n_sets; i++) {
        struct support_set set;
        support_set_at(i, &set);
        if (set.is_reference)
            add_upper(t, set.backend, "");
        add_upper(t, set.name, is_chosen(i) ? "*" : "");
    }
}

static char *steps_text(enum op_kind op)
{
    struct text steps;
    text_init(&steps);
    for (int s = 0; s < support_steps(op); s++)
        text_addf(&steps, "%s%s", s ? " " : "", support_step_name(op, s));
    char *out = text_take(&steps);
    text_release(&steps);
    return out;
}

static void add_row(struct table *t, enum op_kind op, int n_sets)
{
    const int n_steps = support_steps(op);
    print_table_add(t, op_infos[op].name);
    for (int i = 0; i < n_sets; i++) {
        struct support_set set;
        support_set_at(i, &set);
        if (set.is_reference)
            print_table_add(t, status_of(i, op));
        const int n = count_kernels(i, op);
        char *cell = n == 0 ? xstrdup("-") : xasprintf("%d of %d", n, n_steps);
        print_table_add(t, cell);
        free(cell);
    }
}

static int count_backends(int n_sets)
{
    int n = 0;
    for (int i = 0; i < n_sets; i++) {
        struct support_set set;
        support_set_at(i, &set);
        n += set.is_reference;
    }
    return n;
}

static void fill_table(struct table *t, int n_sets, bool steps)
{
    print_table_init(t, 1 + count_backends(n_sets) + n_sets + steps);
    add_headings(t, n_sets);
    if (steps)
        print_table_add(t, "STEPS");
    for (int op = 0; op < OP_COUNT; op++) {
        add_row(t, (enum op_kind)op, n_sets);
        char *text = steps ? steps_text((enum op_kind)op) : NULL;
        if (text)
            print_table_add(t, text);
        free(text);
    }
}

static void print_people(FILE *out)
{
    struct table t;
    const int n_sets = count_sets(), width = terminal_width(out);
    fill_table(&t, n_sets, true);
    if (width > 0 && print_table_width(&t) > width) {
        print_table_release(&t);
        fill_table(&t, n_sets, false);
    }
    print_table_show(&t, out);
    print_table_release(&t);
    fprintf(out, "\n2 of 3: so many of the operation's steps have a kernel of that set; the others "
                 "run on the\nreference's. * the set chosen on this machine.\n");
}

/* ---- for programs -----------------------------------------------------------------------------
 */

static json_t *sets_json(int n_sets)
{
    json_t *sets = json_array();
    for (int i = 0; i < n_sets; i++) {
        struct support_set set;
        support_set_at(i, &set);
        json_array_append_new(sets, json_pack("{s:s,s:s,s:b,s:b,s:b}", "backend", set.backend,
                                              "name", set.name, "reference", set.is_reference,
                                              "usable", set.is_usable, "chosen", is_chosen(i)));
    }
    return sets;
}

static json_t *steps_json(enum op_kind op, int n_sets)
{
    json_t *steps = json_array();
    for (int s = 0; s < support_steps(op); s++) {
        json_t *kernels = json_array();
        for (int i = 0; i < n_sets; i++) {
            const char *name = support_kernel(i, op, s);
            json_array_append_new(kernels, name ? json_string(name) : json_null());
        }
        json_array_append_new(
            steps, json_pack("{s:s,s:o}", "name", support_step_name(op, s), "kernels", kernels));
    }
    return steps;
}

static json_t *op_json(enum op_kind op, int n_sets)
{
    json_t *status = json_object();
    for (int i = 0; i < n_sets; i++) {
        struct support_set set;
        support_set_at(i, &set);
        if (set.is_reference)
            json_object_set_new(status, set.backend, json_string(status_of(i, op)));
    }
    return json_pack("{s:s,s:o,s:o}", "name", op_infos[op].name, "status", status, "steps",
                     steps_json(op, n_sets));
}

void doctor_print_ops(FILE *out, bool json)
{
    if (!json) {
        print_people(out);
        return;
    }
    const int n_sets = count_sets();
    json_t *ops = json_array();
    for (int op = 0; op < OP_COUNT; op++)
        json_array_append_new(ops, op_json((enum op_kind)op, n_sets));
    json_t *all = json_pack("{s:o,s:o}", "sets", sets_json(n_sets), "operations", ops);
    print_json(out, all);
    json_decref(all);
}
