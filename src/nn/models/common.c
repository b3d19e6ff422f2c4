#include "nn/models/models.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

struct layer_name layer_name(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    struct layer_name name = {{0}};
    vsnprintf(name.text, sizeof name.text, format, args);
    va_end(args);
    return name;
}

static void zero_bias(struct graph *g, int node)
{
    if (node >= 0 && g->nodes[node].n_params > 1)
        graph_init(g, node, 1, INIT_ZEROS, 0);
}

int init_kaiming_fan_out(struct graph *g, int conv)
{
    if (conv >= 0) {
        const int32_t *dims = g->params[g->nodes[conv].param[0]].dims;
        const double fan_out = (double)dims[0] * dims[2] * dims[3];
        graph_init(g, conv, 0, INIT_NORMAL, sqrt(2 / fan_out));
    }
    zero_bias(g, conv);
    return conv;
}

int init_normal(struct graph *g, int node, double deviation)
{
    graph_init(g, node, 0, INIT_NORMAL, deviation);
    zero_bias(g, node);
    return node;
}

int dropout_percent(struct graph *g, int x, int64_t percent)
{
    return percent > 0 ? graph_dropout(g, x, (double)percent / 100) : x;
}
