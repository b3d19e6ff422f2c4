/* Numbers and fields of text tables. */
#ifndef DATA_NUMBER_H
#define DATA_NUMBER_H

#include <stdbool.h>

/* The number that [at, end) is, whole: "12", "-0.5", "1e-3"; correctly rounded.  False for any
 * other text, "nan" and "inf" included. */
bool number_parse(const char *at, const char *end, double *out);

/* What of a bad field can be shown: its first 20 characters, printable ones. */
#define FIELD_SHOWN 24
void field_shown(const char *at, const char *end, char out[FIELD_SHOWN]);

#endif
