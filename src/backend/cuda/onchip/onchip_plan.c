#include "backend/cuda/onchip/onchip.h"
#include "backend/cuda/onchip/onchip_layout.h"

#include <string.h>

/* Below this many rows a block, the barriers of a step cost more than a further split saves. */
#define MIN_BLOCK_ROWS 16
#define MAX_CHUNK_ROWS 64
#define MAX_CLUSTER    16

static bool is_valid(const struct onchip_mlp *net)
{
    if (net->n_layers < 1 || net->n_layers > ONCHIP_MAX_LAYERS || net->n_slots < 0 ||
        net->n_slots > 3)
        return false;
    for (int i = 0; i <= net->n_layers; i++)
        if (net->width[i] < 1 || net->width[i] > 8192)
            return false;
    return net->loss == ONCHIP_CROSS_ENTROPY || net->width[net->n_layers] == 1;
}

/* The longest chunk with which a block of such a cluster fits; 0: none. */
static int32_t fitting_chunk(const struct onchip_mlp *net, int32_t cluster, int32_t rows,
                             int32_t smem_bytes)
{
    int32_t chunk = (rows + 15) / 16 * 16;
    if (chunk > MAX_CHUNK_ROWS)
        chunk = MAX_CHUNK_ROWS;
    while (chunk > 0 && onchip_layout_make(net, cluster, chunk).total * 4 > smem_bytes)
        chunk -= 16;
    return chunk;
}

bool onchip_plan_make(const struct onchip_mlp *net, int32_t batch, int32_t n_models,
                      const struct onchip_chip *chip, bool tf32, struct onchip_plan *out)
{
    if (!is_valid(net) || batch < 1 || n_models < 1)
        return false;
    memset(out, 0, sizeof *out);
    for (int32_t cluster = 1; cluster <= MAX_CLUSTER && cluster <= chip->max_cluster;
         cluster *= 2) {
        const bool fills =
            (int64_t)n_models * cluster <= chip->n_sm && batch >= MIN_BLOCK_ROWS * cluster;
        const int32_t rows = (batch + cluster - 1) / cluster;
        const int32_t chunk = fitting_chunk(net, cluster, rows, chip->smem_bytes);
        /* A larger cluster than fills the chip only where a smaller one does not fit. */
        if (chunk == 0 || (out->cluster > 0 && !fills))
            continue;
        out->batch = batch;
        out->cluster = cluster;
        out->block_rows = rows;
        out->chunk_rows = chunk;
        out->smem_bytes = onchip_layout_make(net, cluster, chunk).total * 4;
        out->tf32 = tf32;
    }
    return out->cluster > 0;
}
