/* The table at the end of a run. */
#include "campaign/summary.h"
#include "base/json.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One line of the table as it is known, before it is text. */
struct line {
    const char *slug, *status, *energy_cause;
    int64_t k, failed;
    double t_group_s, speedup, samples_per_s, energy_j, peak_mb;
    json_t *score; /* borrowed */
    bool recorded; /* there is a group's row */
    bool good;     /* every job ended well */
};

static double number(const json_t *row, const char *name)
{
    const json_t *v = json_object_get(row, name);
    return json_is_number(v) ? json_number_value(v) : (double)NAN;
}

static struct line line_of(const struct cell_spec *spec, const struct cell_outcome *outcome)
{
    const json_t *row = json_object_get(outcome->group, "row");
    struct line l = {
        .slug = spec->executor,
        .status = json_string_value(json_object_get(row, "status")),
        .energy_cause = json_string_value(json_object_get(row, "energy_cause")),
        .k = json_integer_value(json_object_get(row, "K")),
        .failed = json_integer_value(json_object_get(row, "jobs_failed")),
        .t_group_s = number(row, "T_group"),
        .speedup = NAN,
        .samples_per_s = number(row, "throughput_group"),
        .energy_j = number(row, "energy_group"),
        .peak_mb = number(row, "vram_peak_mb"),
        .score = json_object_get(outcome->group, "score"),
        .recorded = row != NULL,
    };
    /* Without a device of its own the memory that counts is the host's. */
    if (strcmp(spec->options.device, "cpu") == 0)
        l.peak_mb = number(row, "host_peak_mb");
    l.good = l.status && strcmp(l.status, "ok") == 0;
    return l;
}

/* Cells can be compared that differ in nothing but the strategy. */
static bool same_experiment(const struct cell_spec *a, const struct cell_spec *b)
{
    char x[17], y[17];
    experiment_hash(a->experiment, x);
    experiment_hash(b->experiment, y);
    return strcmp(a->experiment->id, b->experiment->id) == 0 && strcmp(x, y) == 0 &&
           a->seed == b->seed && a->split_seed == b->split_seed &&
           strcmp(a->options.device, b->options.device) == 0 &&
           a->options.synthetic == b->options.synthetic;
}

/* All cells' lines, with speedups against the baseline of the same experiment. */
static struct line *make_lines(const struct cell_spec *specs, const struct cell_outcome *outcomes,
                               int n)
{
    struct line *lines = xcalloc((size_t)n + 1, sizeof *lines);
    for (int i = 0; i < n; i++)
        lines[i] = line_of(&specs[i], &outcomes[i]);
    for (int i = 0; i < n; i++) {
        const struct executor_info *info = executor_find(specs[i].executor);
        if (!info || !info->baseline || !lines[i].good || !(lines[i].t_group_s > 0))
            continue;
        for (int k = 0; k < n; k++)
            if (lines[k].good && lines[k].t_group_s > 0 && same_experiment(&specs[i], &specs[k]))
                lines[k].speedup = lines[i].t_group_s / lines[k].t_group_s;
    }
    return lines;
}

/* ---- as text ------------------------------------------------------------------------------- */

static void add_values(struct text *t, json_t *values)
{
    const char *key;
    json_t *value;
    json_object_foreach(values, key, value)
    {
        char *shown = json_is_string(value) ? xstrdup(json_string_value(value))
                      : json_is_real(value) ? xasprintf("%g", json_real_value(value))
                                            : json_line(value);
        text_addf(t, " %s=%s", key, shown);
        free(shown);
    }
}

/* What the column of scores holds, found from all its lines. */
struct scores {
    const char *name; /* the score's, where all lines have the same: it stands in the heading */
    bool mixed, spread, best;
    struct text_list *notes; /* what the best trials are made of */
};

static void see_name(struct scores *s, const json_t *named)
{
    const char *name = json_string_value(json_object_get(named, "score_name"));
    if (!name)
        return;
    s->mixed |= s->name && strcmp(s->name, name) != 0;
    s->name = s->name ? s->name : name;
}

static void see_score(struct scores *s, const json_t *score)
{
    const json_t *models = json_object_get(score, "models");
    for (size_t i = 0; i < json_array_size(models); i++)
        see_name(s, json_array_get(models, i));
    if (!models)
        see_name(s, score);
    if (json_object_get(score, "best"))
        s->best = true;
    else
        s->spread |= !models && isfinite(number(score, "sd"));
}

static void add_models(struct text *t, const json_t *models, const struct scores *s)
{
    for (size_t i = 0; i < json_array_size(models); i++) {
        const json_t *m = json_array_get(models, i);
        text_addf(t, "%s%s ", i ? ", " : "", json_string_value(json_object_get(m, "model")));
        const double v = number(m, "score");
        if (!isfinite(v))
            text_add(t, "n/a");
        else if (s->mixed)
            text_addf(t, "%s %.4f", json_string_value(json_object_get(m, "score_name")), v);
        else
            text_addf(t, "%.4f", v);
    }
}

/* "0.9812 D03_t4"; its values are a note: all strategies find the same trial best. */
static void add_best(struct text *t, const json_t *best, struct text_list *notes)
{
    const char *id = json_string_value(json_object_get(best, "job_id"));
    struct text note;
    text_addf(t, "%.4f %s", number(best, "score"), id);
    text_init(&note);
    text_addf(&note, "%s:", id);
    add_values(&note, json_object_get(best, "values"));
    if (!text_list_has(notes, note.data))
        text_list_add(notes, note.data);
    text_release(&note);
}

/* "0.9512 (0.0031)", "mlp R2 0.5000, lenet n/a" */
static char *score_text(const json_t *score, struct scores *s)
{
    struct text t;
    text_init(&t);
    const json_t *best = json_object_get(score, "best");
    const json_t *models = json_object_get(score, "models");
    const double mean = number(score, "mean"), sd = number(score, "sd");
    if (best) {
        add_best(&t, best, s->notes);
    } else if (models) {
        add_models(&t, models, s);
    } else if (isfinite(mean)) {
        text_addf(&t, "%.4f", mean);
        if (isfinite(sd))
            text_addf(&t, " (%.4f)", sd);
    } else {
        text_add(&t, "n/a");
    }
    char *out = text_take(&t);
    text_release(&t);
    return out;
}

/* "accuracy (SD)": the name of what all lines show, and what stands beside it; malloc'd. */
static char *score_heading(const struct scores *s)
{
    return xasprintf("%s%s%s", s->best ? "best " : "", s->name && !s->mixed ? s->name : "score",
                     s->spread ? " (SD)" : "");
}

/* A number as a table shows it: "" when it is not one. */
static char *shown(double v, const char *unit)
{
    if (!isfinite(v))
        return xstrdup("");
    const int digits = v >= 100 ? 0 : v >= 10 ? 1 : 2;
    return xasprintf("%.*f%s", v < 1 ? 3 : digits, v, unit);
}

/* As narrow as they can be: with a score and its deviation a line has 80 columns.  The last one's
 * heading is score_heading. */
#define N_COLUMNS 8
static const char *const headings[N_COLUMNS - 1] = {"strategy",  "K",      "T_group", "speedup",
                                                    "samples/s", "energy", "memory"};

/* The strategy, and what went wrong with its jobs. */
static char *strategy_text(const struct line *l)
{
    const long long done = (long long)(l->k - l->failed), k = (long long)l->k;
    if (l->good || !l->recorded)
        return xstrdup(l->slug);
    /* That the user stopped them is no failure of theirs. */
    if (l->status && strcmp(l->status, "interrupted") == 0)
        return xasprintf("%s (interrupted, %lld of %lld done)", l->slug, done, k);
    if (l->failed == 0)
        return xasprintf("%s (rows lost)", l->slug);
    return xasprintf("%s (%lld of %lld failed)", l->slug, (long long)l->failed, k);
}

static void fill_cells(char *cells[N_COLUMNS], const struct line *l, int footnote,
                       struct scores *scores)
{
    cells[0] = strategy_text(l);
    cells[1] = l->recorded ? xasprintf("%lld", (long long)l->k) : xstrdup("");
    cells[2] = shown(l->t_group_s, " s");
    cells[3] = isfinite(l->speedup) ? xasprintf("%.2fx", l->speedup) : xstrdup("");
    cells[4] = isfinite(l->samples_per_s) ? xasprintf("%.0f", l->samples_per_s) : xstrdup("");
    cells[5] = isfinite(l->energy_j) ? shown(l->energy_j, " J")
               : footnote > 0        ? xasprintf("[%d]", footnote)
                                     : xstrdup("n/a");
    cells[6] = isfinite(l->peak_mb) ? xasprintf("%.0f MiB", l->peak_mb) : xstrdup("n/a");
    cells[7] = l->recorded ? score_text(l->score, scores) : xstrdup("not run");
}

/* Number of the reason among the footnotes, which it joins when it is new; 0 for none. */
static int footnote_of(struct text_list *notes, const char *reason)
{
    if (!reason)
        return 0;
    for (size_t i = 0; i < notes->n; i++)
        if (strcmp(notes->items[i], reason) == 0)
            return (int)i + 1;
    text_list_add(notes, reason);
    return (int)notes->n;
}

static void print_rule(FILE *out, const size_t width[N_COLUMNS])
{
    size_t total = 2 * (N_COLUMNS - 1);
    for (int c = 0; c < N_COLUMNS; c++)
        total += width[c];
    while (total-- > 0)
        fputc('-', out);
    fputc('\n', out);
}

/* The first and last columns are text, the others numbers and set to the right. */
static void print_cells(FILE *out, const char *const *cells, const size_t width[N_COLUMNS])
{
    for (int c = 0; c < N_COLUMNS - 1; c++)
        fprintf(out, c == 0 ? "%-*s  " : "%*s  ", (int)width[c], cells[c]);
    fprintf(out, "%s\n", cells[N_COLUMNS - 1]);
}

static void print_notes(FILE *out, const struct text_list *trials, const struct text_list *causes)
{
    for (size_t i = 0; i < trials->n; i++)
        fprintf(out, "%s\n", trials->items[i]);
    for (size_t i = 0; i < causes->n; i++)
        fprintf(out, "[%zu] no energy: %s\n", i + 1, causes->items[i]);
}

/* The table of the lines chosen[0..n-1], all of one experiment. */
static void print_table(FILE *out, const struct cell_spec *spec, const struct line *lines,
                        const int *chosen, int n)
{
    const struct experiment *e = spec->experiment;
    char *(*cells)[N_COLUMNS] = xcalloc((size_t)n + 1, sizeof *cells);
    size_t width[N_COLUMNS] = {0};
    struct text_list causes, trials;
    struct scores scores = {.notes = &trials};
    text_list_init(&causes);
    text_list_init(&trials);
    for (int i = 0; i < n; i++)
        see_score(&scores, lines[chosen[i]].score);
    for (int c = 0; c < N_COLUMNS - 1; c++)
        cells[0][c] = xstrdup(headings[c]);
    cells[0][N_COLUMNS - 1] = score_heading(&scores);
    for (int i = 0; i < n; i++) {
        const struct line *l = &lines[chosen[i]];
        const int cause = isfinite(l->energy_j) ? 0 : footnote_of(&causes, l->energy_cause);
        fill_cells(cells[i + 1], l, cause, &scores);
    }
    for (int i = 0; i <= n; i++)
        for (int c = 0; c < N_COLUMNS; c++)
            if (strlen(cells[i][c]) > width[c])
                width[c] = strlen(cells[i][c]);
    fprintf(out, "\n%s (%s%s%s) on %s\n", e->id, e->workload->name, e->overrides ? ", with " : "",
            e->overrides ? e->overrides : "", spec->options.device);
    for (int i = 0; i <= n; i++) {
        print_cells(out, (const char *const *)cells[i], width);
        if (i == 0)
            print_rule(out, width);
        for (int c = 0; c < N_COLUMNS; c++)
            free(cells[i][c]);
    }
    print_notes(out, &trials, &causes);
    text_list_release(&trials);
    text_list_release(&causes);
    free(cells);
}

void summary_print(FILE *out, const struct cell_spec *specs, const struct cell_outcome *outcomes,
                   int n)
{
    struct line *lines = make_lines(specs, outcomes, n);
    bool *printed = xcalloc((size_t)n + 1, sizeof *printed);
    int *chosen = xcalloc((size_t)n + 1, sizeof *chosen);
    for (int i = 0; i < n; i++) {
        int m = 0;
        for (int k = i; k < n && !printed[i]; k++)
            if (!printed[k] && same_experiment(&specs[i], &specs[k]))
                chosen[m++] = k;
        for (int k = 0; k < m; k++)
            printed[chosen[k]] = true;
        if (m > 0)
            print_table(out, &specs[i], lines, chosen, m);
    }
    free(chosen);
    free(printed);
    free(lines);
}

/* ---- as JSON ------------------------------------------------------------------------------- */

static json_t *real_or_null(double v)
{
    return isfinite(v) ? json_real(v) : json_null();
}

json_t *summary_json(const struct cell_spec *specs, const struct cell_outcome *outcomes, int n)
{
    struct line *lines = make_lines(specs, outcomes, n);
    json_t *list = json_array();
    for (int i = 0; i < n; i++) {
        const struct line *l = &lines[i];
        json_t *score = l->score ? json_incref(l->score) : json_null();
        json_array_append_new(
            list,
            json_pack("{s:s,s:s?,s:s,s:s,s:s?,s:I,s:I,s:o,s:o,s:o,s:o,s:s?,s:o,s:o}", "exp_id",
                      specs[i].experiment->id, "overrides", specs[i].experiment->overrides,
                      "executor", l->slug, "device", specs[i].options.device, "status", l->status,
                      "k", (json_int_t)l->k, "jobs_failed", (json_int_t)l->failed, "t_group_s",
                      real_or_null(l->t_group_s), "speedup", real_or_null(l->speedup),
                      "samples_per_s", real_or_null(l->samples_per_s), "energy_j",
                      real_or_null(l->energy_j), "energy_cause", l->energy_cause, "peak_mb",
                      real_or_null(l->peak_mb), "score", score));
    }
    free(lines);
    return list;
}
