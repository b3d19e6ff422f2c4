#include "base/progress.h"
#include "base/clock.h"
#include "base/progress_track.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define REDRAW_S 0.1
#define LINE_S   5.0

struct progress {
    FILE *out;
    enum progress_mode mode; /* never AUTO */
    double (*now)(void);
    struct progress_track *tracks;
    size_t n, cap;
    int drawn;       /* rows of bars on the screen now */
    bool ever_drawn; /* else redraw_s says nothing */
    double redraw_s;
};

struct progress *progress_new(FILE *out, enum progress_mode mode, double (*clock_now)(void))
{
    struct progress *p = xcalloc(1, sizeof *p);
    p->out = out;
    p->now = clock_now ? clock_now : clock_now_s;
    p->mode = mode;
    if (mode == PROGRESS_AUTO) {
        const char *term = getenv("TERM");
        const bool dumb = term && strcmp(term, "dumb") == 0;
        const int fd = fileno(out);
        p->mode = fd >= 0 && isatty(fd) && !dumb ? PROGRESS_BARS : PROGRESS_LINES;
    }
    return p;
}

bool progress_has_bars(const struct progress *p)
{
    return p->mode == PROGRESS_BARS;
}

static void forget_tracks(struct progress *p)
{
    for (size_t i = 0; i < p->n; i++) {
        free(p->tracks[i].name);
        free(p->tracks[i].note);
    }
    p->n = 0;
}

/* Moves to the first row of the bars and empties the screen from there. */
static void erase(struct progress *p)
{
    if (p->drawn > 0)
        fprintf(p->out, "\033[%dA\r\033[J", p->drawn);
    p->drawn = 0;
}

void progress_free(struct progress *p)
{
    if (!p)
        return;
    progress_clear(p);
    free(p->tracks);
    free(p);
}

void progress_clear(struct progress *p)
{
    erase(p);
    fflush(p->out);
    forget_tracks(p);
    p->ever_drawn = false;
}

/* The terminal's size; where `out` is none, COLUMNS and LINES; else 80 x 24. */
static void screen_size(const struct progress *p, int *rows, int *columns)
{
    struct winsize w = {0};
    const int fd = fileno(p->out);
    int64_t v;
    *rows = 24;
    *columns = 80;
    if (fd >= 0 && ioctl(fd, TIOCGWINSZ, &w) == 0 && w.ws_row > 0 && w.ws_col > 0) {
        *rows = w.ws_row;
        *columns = w.ws_col;
        return;
    }
    if (text_to_int64(getenv("LINES"), &v) && v > 0 && v < 10000)
        *rows = (int)v;
    if (text_to_int64(getenv("COLUMNS"), &v) && v > 0 && v < 10000)
        *columns = (int)v;
}

/* Marks the tracks to show when there are more than `room`: those that run, oldest first, then the
 * latest of the finished. */
static void choose(const struct progress *p, size_t room, bool *shown)
{
    for (size_t i = 0; i < p->n && room > 0; i++) {
        if (!p->tracks[i].finished) {
            shown[i] = true;
            room--;
        }
    }
    for (size_t i = p->n; i-- > 0 && room > 0;) {
        if (p->tracks[i].finished) {
            shown[i] = true;
            room--;
        }
    }
}

static void add_summary(const struct progress *p, const bool *shown, struct text *out)
{
    size_t running = 0, finished = 0;
    for (size_t i = 0; i < p->n; i++) {
        if (!shown[i] && p->tracks[i].finished)
            finished++;
        else if (!shown[i])
            running++;
    }
    text_addf(out, "... and %zu more: %zu running, %zu finished", running + finished, running,
              finished);
}

/* All bars as one string, so that a redraw is one write and does not flicker. */
static void draw(struct progress *p)
{
    int rows, columns, name_width = 0;
    screen_size(p, &rows, &columns);
    const size_t most = rows > 3 ? (size_t)rows - 2 : 1;
    const bool all = p->n <= most;
    bool *shown = xcalloc(p->n, sizeof *shown);
    choose(p, all ? p->n : most - 1, shown);
    for (size_t i = 0; i < p->n; i++) {
        const int width = shown[i] ? progress_width(p->tracks[i].name) : 0;
        name_width = width > name_width ? width : name_width;
    }
    struct text text;
    text_init(&text);
    int lines = 0;
    if (p->drawn > 0)
        text_addf(&text, "\033[%dA\r", p->drawn);
    for (size_t i = 0; i <= p->n; i++) {
        if (i < p->n ? !shown[i] : all)
            continue;
        const size_t from = text.len;
        if (i < p->n)
            progress_track_text(&p->tracks[i], name_width, true, &text);
        else
            add_summary(p, shown, &text);
        /* A full row would make some terminals wrap. */
        progress_cut(&text, from, columns - 1);
        text_add(&text, "\033[K\n");
        lines++;
    }
    if (lines < p->drawn)
        text_add(&text, "\033[J");
    fwrite(text.data, 1, text.len, p->out);
    fflush(p->out);
    text_release(&text);
    free(shown);
    p->drawn = lines;
    p->ever_drawn = true;
    p->redraw_s = p->now();
}

/* malloc'd copy on one line: what controls a terminal becomes a blank.  NULL gives NULL. */
static char *one_line(const char *s)
{
    if (!s)
        return NULL;
    char *copy = xstrdup(s);
    for (char *c = copy; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = ' ';
    return copy;
}

static struct progress_track *find_track(struct progress *p, const char *name, double now,
                                         double done)
{
    char *clean = one_line(name);
    for (size_t i = 0; i < p->n; i++) {
        if (strcmp(p->tracks[i].name, clean) == 0) {
            free(clean);
            return &p->tracks[i];
        }
    }
    if (p->n == p->cap) {
        p->cap = p->cap ? 2 * p->cap : 16;
        p->tracks = xrealloc(p->tracks, p->cap * sizeof *p->tracks);
    }
    struct progress_track *t = &p->tracks[p->n++];
    *t = (struct progress_track){
        .name = clean, .start_s = now, .start_done = done, .line_s = now, .now_s = now};
    return t;
}

static void print_line(const struct progress *p, const struct progress_track *t)
{
    struct text text;
    text_init(&text);
    progress_track_text(t, 0, false, &text);
    fprintf(p->out, "%s\n", text.data);
    fflush(p->out);
    text_release(&text);
}

void progress_update(struct progress *p, const char *name, const struct progress_state *s)
{
    if (p->mode == PROGRESS_QUIET)
        return;
    const double now = p->now();
    struct progress_track *t = find_track(p, name, now, s->done);
    const bool ends = s->finished && !t->finished;
    if (t->finished && !s->finished) {
        /* A retry: time counts from here. */
        t->start_s = t->line_s = now;
        t->start_done = s->done;
    }
    free(t->note);
    t->note = one_line(s->note);
    t->done = s->done;
    t->total = s->total;
    t->bytes = s->bytes;
    t->samples_per_s = s->samples_per_s;
    t->loss = s->loss;
    t->finished = s->finished;
    t->now_s = now;
    if (p->mode == PROGRESS_BARS) {
        if (!p->ever_drawn || now - p->redraw_s >= REDRAW_S)
            draw(p);
    } else if (ends || (!s->finished && now - t->line_s >= LINE_S)) {
        t->line_s = now;
        print_line(p, t);
    }
}

void progress_line(struct progress *p, const char *text)
{
    const bool bars = p->drawn > 0;
    erase(p);
    fprintf(p->out, "%s\n", text);
    if (bars)
        draw(p);
    fflush(p->out);
}
