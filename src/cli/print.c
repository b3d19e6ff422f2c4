#include "cli/print.h"

#include "base/log.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define LINE_LENGTH 80

/* ---- JSON -------------------------------------------------------------------------------------
 */

static void print_real(FILE *out, double v)
{
    char digits[40];
    double back;
    for (int precision = 1; precision <= 17; precision++) {
        snprintf(digits, sizeof digits, "%.*g", precision, v);
        if (text_to_double(digits, &back) && back == v)
            break;
    }
    const bool whole = !strpbrk(digits, ".en");
    fprintf(out, "%s%s", digits, whole ? ".0" : "");
}

static void print_scalar(FILE *out, const json_t *value)
{
    if (json_is_real(value)) {
        print_real(out, json_real_value(value));
        return;
    }
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
    fputs(text ? text : "null", out);
    free(text);
}

static bool is_nested(const json_t *value)
{
    return json_is_object(value) || json_is_array(value);
}

static void print_value(FILE *out, const json_t *value, int indent);

/* Short lists of plain values stand on one line. */
static bool fits_line(const json_t *array)
{
    size_t length = 0;
    for (size_t i = 0; i < json_array_size(array); i++) {
        const json_t *value = json_array_get(array, i);
        length += json_is_string(value) ? json_string_length(value) : 8;
        if (is_nested(value) || length > LINE_LENGTH)
            return false;
    }
    return true;
}

static void print_array(FILE *out, const json_t *array, int indent)
{
    const bool flat = fits_line(array);
    fputc('[', out);
    for (size_t i = 0; i < json_array_size(array); i++) {
        fputs(i == 0 ? "" : flat ? ", " : ",", out);
        if (!flat)
            fprintf(out, "\n%*s", indent + 2, "");
        print_value(out, json_array_get(array, i), indent + 2);
    }
    if (!flat)
        fprintf(out, "\n%*s", indent, "");
    fputc(']', out);
}

static void print_object(FILE *out, const json_t *object, int indent)
{
    const char *key;
    json_t *value;
    bool first = true;
    fputc('{', out);
    json_object_foreach((json_t *)object, key, value)
    {
        json_t *name = json_string(key);
        fprintf(out, "%s\n%*s", first ? "" : ",", indent + 2, "");
        print_scalar(out, name);
        fputs(": ", out);
        print_value(out, value, indent + 2);
        json_decref(name);
        first = false;
    }
    if (!first)
        fprintf(out, "\n%*s", indent, "");
    fputc('}', out);
}

static void print_value(FILE *out, const json_t *value, int indent)
{
    if (json_is_object(value))
        print_object(out, value, indent);
    else if (json_is_array(value))
        print_array(out, value, indent);
    else
        print_scalar(out, value);
}

void print_json(FILE *out, const json_t *value)
{
    print_value(out, value, 0);
    fputc('\n', out);
}

/* ---- tables -----------------------------------------------------------------------------------
 */

#define MAX_COLUMNS 32

void print_table_init(struct table *t, int n_columns)
{
    text_list_init(&t->cells);
    t->n_columns = n_columns < MAX_COLUMNS ? n_columns : MAX_COLUMNS;
}

void print_table_release(struct table *t)
{
    text_list_release(&t->cells);
}

void print_table_add(struct table *t, const char *cell)
{
    text_list_add(&t->cells, cell);
}

static int columns_of(const char *s)
{
    int n = 0;
    for (; *s; s++)
        n += ((unsigned char)*s & 0xC0u) != 0x80u;
    return n;
}

static bool right_aligned(const struct table *t, int column)
{
    return t->cells.items[column][0] == '>';
}

/* A cell as shown: the mark of a right-aligned heading is none of its text. */
static const char *shown(const struct table *t, size_t cell)
{
    const char *s = t->cells.items[cell];
    return cell < (size_t)t->n_columns && *s == '>' ? s + 1 : s;
}

static void widths(const struct table *t, int *width)
{
    memset(width, 0, MAX_COLUMNS * sizeof *width);
    for (size_t i = 0; i < t->cells.n; i++) {
        const int w = columns_of(shown(t, i));
        int *column = &width[i % (size_t)t->n_columns];
        *column = w > *column ? w : *column;
    }
}

int print_table_width(const struct table *t)
{
    int width[MAX_COLUMNS], sum = 2 * (t->n_columns - 1);
    widths(t, width);
    for (int c = 0; c < t->n_columns; c++)
        sum += width[c];
    return sum;
}

void print_table_show(const struct table *t, FILE *out)
{
    int width[MAX_COLUMNS];
    widths(t, width);
    const bool bold = log_use_color(fileno(out));
    for (size_t row = 0; row * (size_t)t->n_columns < t->cells.n; row++) {
        int owed = 0; /* blanks not yet printed, so that no line ends in any */
        fputs(bold && row == 0 ? "\033[1m" : "", out);
        for (int c = 0; c < t->n_columns; c++) {
            const char *cell = shown(t, row * (size_t)t->n_columns + (size_t)c);
            const int pad = width[c] - columns_of(cell), before = right_aligned(t, c) ? pad : 0;
            if (*cell) {
                fprintf(out, "%*s%s", owed + before, "", cell);
                owed = 0;
            } else {
                owed += before;
            }
            owed += pad - before + 2;
        }
        fprintf(out, "%s\n", bold && row == 0 ? "\033[0m" : "");
    }
}

int terminal_width(FILE *out)
{
    struct winsize size;
    if (!isatty(fileno(out)) || ioctl(fileno(out), TIOCGWINSZ, &size) != 0)
        return 0;
    return size.ws_col;
}

const char *const *list_items(const struct text_list *l)
{
    return (const char *const *)l->items;
}
