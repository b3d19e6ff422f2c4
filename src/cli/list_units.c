/* Counts, sizes and shapes as the tables of `list` show them. */
#include "cli/list.h"

#include <stdio.h>

static char *scaled(double v, double step, const char *const *units)
{
    int u = 0;
    while (v >= 999.5 && units[u + 1]) {
        v /= step;
        u++;
    }
    const int digits = u == 0 || v >= 99.95 ? 0 : v >= 9.995 ? 1 : 2;
    return xasprintf("%.*f%s", digits, v, units[u]);
}

char *list_count(double v)
{
    static const char *const units[] = {"", " k", " M", " G", " T", NULL};
    return scaled(v, 1000, units);
}

char *list_bytes(double bytes)
{
    static const char *const units[] = {" B", " KiB", " MiB", " GiB", " TiB", NULL};
    return scaled(bytes, 1024, units);
}

char *list_shape(struct shape s, bool tokens)
{
    if (s.rank == 1)
        return xasprintf("%d %s", (int)s.d[0], tokens ? "tokens" : "values");
    if (s.rank == 2)
        return xasprintf("%dx%d", (int)s.d[0], (int)s.d[1]);
    return xasprintf("%dx%dx%d", (int)s.d[0], (int)s.d[1], (int)s.d[2]);
}

json_t *list_shape_json(struct shape s)
{
    json_t *dims = json_array();
    for (int i = 0; i < s.rank; i++)
        json_array_append_new(dims, json_integer(s.d[i]));
    return dims;
}
