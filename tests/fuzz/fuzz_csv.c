/* needs: src/data/csv_table.c csv_table_parse */
#include "data/csv_table.h"
#include "fuzz.h"

/* The first byte chooses the separator and whether there is a header. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct csv_table t;
    struct error err = ERROR_INIT;
    if (size == 0)
        return 0;
    const bool header = data[0] & 1;
    if (!csv_table_parse(data + 1, size - 1, data[0] & 2 ? ';' : ',', header, "fuzz", &t, &err)) {
        fuzz_check_error(err);
        return 0;
    }
    fuzz_check(t.n_columns > 0 && (header || t.n_rows > 0));
    fuzz_check(header == (t.header != NULL));
    for (int32_t c = 0; header && c < t.n_columns; c++)
        fuzz_touch(t.header[c].text, t.header[c].len);
    for (int64_t i = 0; i < t.n_rows * t.n_columns; i++)
        fuzz_touch(t.cell[i].text, t.cell[i].len);
    fuzz_touch(t.line, (size_t)t.n_rows * sizeof *t.line);
    csv_table_release(&t);
    return 0;
}
