/* What a graph costs, and its hash. */
#include "nn/graph.h"

#include <string.h>

double graph_macs(const struct graph *g)
{
    double sum = 0;
    for (int32_t i = 0; i < g->n_nodes; i++) {
        const struct node *n = &g->nodes[i];
        if (op_infos[n->op].macs)
            sum += op_infos[n->op].macs(&n->attr, n->in, &n->out);
    }
    return sum;
}

size_t graph_activations(const struct graph *g)
{
    size_t sum = 0;
    for (int32_t i = 0; i < g->n_nodes; i++)
        sum += shape_count(g->nodes[i].out);
    return sum;
}

size_t graph_parameter_count(const struct graph *g)
{
    size_t sum = 0;
    for (int32_t i = 0; i < g->n_params; i++)
        sum += g->params[i].count;
    return sum;
}

/* ---- hash -------------------------------------------------------------------------------------
 */

/* Numbers go in byte by byte, lowest first: the hash does not depend on the machine. */
static uint64_t mix_u32(uint64_t h, uint32_t v)
{
    for (int i = 0; i < 4; i++) {
        h ^= (v >> (8 * i)) & 0xFFu;
        h *= 0x100000001B3u;
    }
    return h;
}

static uint64_t mix_float(uint64_t h, float v)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    return mix_u32(h, bits);
}

static uint64_t mix_text(uint64_t h, const char *s)
{
    for (; *s; s++)
        h = mix_u32(h, (uint32_t)(unsigned char)*s);
    return mix_u32(h, 0);
}

static uint64_t mix_shape(uint64_t h, struct shape s)
{
    h = mix_u32(h, (uint32_t)s.rank);
    for (int i = 0; i < 3; i++)
        h = mix_u32(h, (uint32_t)s.d[i]);
    return h;
}

static uint64_t mix_attr(uint64_t h, const struct op_attr *a)
{
    const int32_t whole[] = {a->out_features, a->kernel_h, a->kernel_w, a->stride_h,
                             a->stride_w,     a->pad_h,    a->pad_w,    a->dilation_h,
                             a->dilation_w,   a->groups,   a->bias};
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        h = mix_u32(h, (uint32_t)whole[i]);
    h = mix_float(h, a->p);
    h = mix_float(h, (float)a->eps);
    h = mix_float(h, (float)a->momentum);
    /* What later versions added enters with its number and only where it is set, so that the hashes
     * of networks without it stay. */
    const int32_t later[] = {a->is_tokens, a->count_include_pad, a->out_h, a->out_w,  a->rows,
                             a->pad_id,    a->position,          a->heads, a->causal, a->masked};
    for (uint32_t i = 0; i < sizeof later / sizeof *later; i++)
        if (later[i] != 0)
            h = mix_u32(mix_u32(h, i), (uint32_t)later[i]);
    const float reals[] = {(float)a->scale, (float)a->label_smoothing};
    for (uint32_t i = 0; i < sizeof reals / sizeof *reals; i++)
        if (reals[i] != 0.0f)
            h = mix_float(mix_u32(h, 100 + i), reals[i]);
    return h;
}

/* Operations enter by name, not number: adding one to the enumeration changes no hash. */
uint64_t graph_hash(const struct graph *g)
{
    uint64_t h = 0xCBF29CE484222325u;
    for (int32_t i = 0; i < g->n_nodes; i++) {
        const struct node *n = &g->nodes[i];
        h = mix_text(h, op_infos[n->op].name);
        h = mix_attr(h, &n->attr);
        for (int32_t j = 0; j < n->n_inputs; j++) {
            h = mix_u32(h, (uint32_t)n->input[j]);
            h = mix_shape(h, n->in[j]);
        }
        h = mix_shape(h, n->out);
        for (int32_t j = 0; n->shares_params && j < n->n_params; j++)
            h = mix_u32(h, (uint32_t)n->param[j]);
    }
    return mix_u32(h, (uint32_t)g->output);
}
