/* The rows of the embedded digits data set (digits_data.c). */
#ifndef DATA_DIGITS_H
#define DATA_DIGITS_H

#define DIGITS_N      1797
#define DIGITS_PIXELS 64

/* 64 pixels, 'A' (0) to 'Q' (16), then the class as a digit. */
extern const char digits_rows[DIGITS_N][DIGITS_PIXELS + 2];

#endif
