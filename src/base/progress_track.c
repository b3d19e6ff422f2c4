#include "base/progress_track.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void progress_duration(char *out, size_t size, double seconds)
{
    /* Past a century it is no estimate any more. */
    if (!(seconds >= 0) || seconds > 3.2e9) {
        snprintf(out, size, "unknown");
        return;
    }
    const long long s = (long long)(seconds + 0.5);
    if (s < 60)
        snprintf(out, size, "%lld s", s);
    else if (s < 3600)
        snprintf(out, size, "%lld min %02lld s", s / 60, s % 60);
    else
        snprintf(out, size, "%lld h %02lld min", s / 3600, s % 3600 / 60);
}

/* "3" or "3.2". */
static void add_count(struct text *out, double v)
{
    char number[32];
    snprintf(number, sizeof number, "%.1f", v);
    char *zero = strstr(number, ".0");
    if (zero)
        *zero = '\0';
    text_add(out, number);
}

/* Three digits and a prefix: "850 samples/s", "12.3 k samples/s", "1.20 M samples/s", "1.20 MB/s".
 */
static void add_rate(struct text *out, double rate, const char *unit)
{
    static const char *const prefixes[] = {"", "k", "M", "G"};
    size_t i = 0;
    while (rate >= 999.5 && i + 1 < sizeof prefixes / sizeof *prefixes) {
        rate /= 1000;
        i++;
    }
    const int digits = rate >= 99.95 ? 0 : rate >= 9.995 ? 1 : 2;
    const char *between = i > 0 && *unit != 'B' ? " " : "";
    text_addf(out, "  %.*f %s%s%s/s", digits, rate, prefixes[i], between, unit);
}

static void add_bar(struct text *out, const struct progress_track *t)
{
    const double part = t->total > 0 ? t->done / t->total : 0;
    /* Rounded down: a full bar means done. */
    const int full = part >= 1  ? PROGRESS_BAR_CELLS
                     : part > 0 ? (int)(part * PROGRESS_BAR_CELLS)
                                : 0;
    text_add(out, "  [");
    for (int i = 0; i < PROGRESS_BAR_CELLS; i++)
        text_add_n(out, i < full ? "#" : "-", 1);
    text_add(out, "]");
}

static void add_end(struct text *out, const struct progress_track *t)
{
    char duration[48];
    const double elapsed = t->now_s - t->start_s, made = t->done - t->start_done;
    if (t->note) {
        text_addf(out, "  %s", t->note);
    } else if (t->finished) {
        progress_duration(duration, sizeof duration, elapsed);
        text_addf(out, "  done in %s", duration);
    } else if (made > 0 && elapsed > 0 && t->total >= t->done) {
        progress_duration(duration, sizeof duration, (t->total - t->done) * elapsed / made);
        text_addf(out, "  ETA %s", duration);
    }
}

void progress_track_text(const struct progress_track *t, int name_width, bool with_bar,
                         struct text *out)
{
    text_add(out, t->name);
    for (int i = progress_width(t->name); i < name_width; i++)
        text_add_n(out, " ", 1);
    if (with_bar)
        add_bar(out, t);
    const double unit = t->bytes ? 1e6 : 1;
    text_add(out, "  ");
    add_count(out, t->done / unit);
    if (t->total > 0) {
        text_add(out, "/");
        add_count(out, t->total / unit);
    }
    text_add(out, t->bytes ? " MB" : " epochs");
    if (t->samples_per_s > 0)
        add_rate(out, t->samples_per_s, t->bytes ? "B" : "samples");
    if (!isnan(t->loss))
        text_addf(out, "  loss %.4g", t->loss);
    add_end(out, t);
}

static bool continues(char c)
{
    return ((unsigned char)c & 0xC0u) == 0x80u;
}

int progress_width(const char *s)
{
    int n = 0;
    for (; *s; s++)
        n += !continues(*s);
    return n;
}

void progress_cut(struct text *t, size_t from, int columns)
{
    size_t i = from;
    while (i < t->len) {
        if (!continues(t->data[i]) && columns-- <= 0)
            break;
        i++;
    }
    t->len = i;
    t->data[i] = '\0';
}
