/* Labelled sentences in tab-separated lines, as GLUE distributes SST-2: a line "sentence<TAB>label"
 * first, then a sentence and its class number a line.  In memory: no files here.
 */
#ifndef DATA_TEXT_TSV_H
#define DATA_TEXT_TSV_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

#define TSV_MAX_SENTENCE 65536 /* bytes; the longest of SST-2 has 268 */

struct tsv_row {
    const char *text; /* in the bytes, not terminated; blanks at its end are kept */
    uint32_t len;     /* 1 to TSV_MAX_SENTENCE */
    int32_t label;    /* 0 to n_classes - 1 */
};

struct tsv {
    int64_t n; /* at least 1 */
    struct tsv_row *rows;
};

/* Parses the bytes of a file, which must be UTF-8 and outlive *out; `path` names it in errors
 * ("path:line: what").  Strict: that header, two columns, a label that is a plain number below
 * n_classes, no empty sentence, no blank line.  Lines end in "\n" or "\r\n", the last one may end
 * with the file.  After an error there is nothing to release. */
bool tsv_parse(const char *bytes, size_t n, const char *path, int32_t n_classes, struct tsv *out,
               struct error *err);
void tsv_release(struct tsv *t);

#endif
