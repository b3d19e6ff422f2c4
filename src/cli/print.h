/* What several commands print alike: JSON for programs, tables for people.  For this room only. */
#ifndef CLI_PRINT_H
#define CLI_PRINT_H

#include "base/text.h"

#include <jansson.h>
#include <stdio.h>

/* Indented JSON and a newline; every real in the fewest digits that read back as the same value;
 * short lists of plain values on one line. */
void print_json(FILE *out, const json_t *value);

/* A table of left-aligned columns, two blanks between them; columns whose heading starts with '>'
 * are right-aligned. */
struct table {
    struct text_list cells; /* row after row, the headings first */
    int n_columns;
};
void print_table_init(struct table *t, int n_columns);
void print_table_release(struct table *t);
void print_table_add(struct table *t, const char *cell);
int print_table_width(const struct table *t);
void print_table_show(const struct table *t, FILE *out);

/* Columns of the terminal, 0 when out is none. */
int terminal_width(FILE *out);

/* Borrowed items of a list option, as the libraries take them. */
const char *const *list_items(const struct text_list *l);

#endif
