#!/usr/bin/env python3
"""Writes src/data/digits_data.c, the embedded digits data set, from digits.csv[.gz].

Usage: scripts/embed_digits.py PATH/digits.csv.gz > src/data/digits_data.c

Input: 1797 lines of 65 comma-separated numbers: 64 pixels (0 to 16, row by row), then the class.
Output: one line a sample, in the same order: a letter a pixel ('A' is 0, 'Q' is 16), then the class
as a digit, so that the file stays readable (and diffable) text.
"""
import gzip
import sys

HEAD = """\
/* The embedded data set: 1797 handwritten digits of 8x8 pixels, made by scripts/embed_digits.py.
 *
 * Source: E. Alpaydin, C. Kaynak, "Optical Recognition of Handwritten Digits", UCI Machine Learning
 * Repository, 1998, https://doi.org/10.24432/C50P49 (its test part, as scikit-learn ships it).
 * Licence: Creative Commons Attribution 4.0 International (CC BY 4.0),
 * https://creativecommons.org/licenses/by/4.0/.  Only the notation was changed.
 *
 * A row is 64 pixels, row by row, 'A' (0) to 'Q' (16), then the class as a digit.
 */
#include "data/digits.h"

/* clang-format off */
const char digits_rows[DIGITS_N][DIGITS_PIXELS + 2] = {
"""


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    path = sys.argv[1]
    opener = gzip.open if path.endswith(".gz") else open
    out = [HEAD]
    with opener(path, "rt", encoding="ascii") as f:
        for number, line in enumerate(f, 1):
            values = [int(v) for v in line.split(",")]
            if len(values) != 65 or not 0 <= min(values) <= max(values[:64]) <= 16 or values[64] > 9:
                sys.exit(f"{path}:{number}: not 64 pixels of 0 to 16 and a class of 0 to 9")
            out.append('"' + "".join(chr(ord("A") + v) for v in values[:64]) + f'{values[64]}",\n')
    if len(out) != 1 + 1797:
        sys.exit(f"{path}: {len(out) - 1} samples, 1797 expected")
    out.append("};\n/* clang-format on */\n")
    sys.stdout.write("".join(out))


main()
