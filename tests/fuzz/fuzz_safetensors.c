/* needs: src/nn/weights.h weights_import */
#include "fuzz.h"
#include "nn/model.h"
#include "nn/safetensors.h"
#include "nn/weights.h"

static struct graph *net;

/* The parser, and the import into a small network whose tensors some of the seeds have. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct safetensors st;
    struct error err = ERROR_INIT;
    if (!net)
        net = model_build("mlp?hidden1=2&hidden2=2", shape_vector(2), 2, NULL);
    fuzz_check(net);
    if (!safetensors_parse(&st, data, size, &err)) {
        fuzz_check_error(err);
        return 0;
    }
    for (int32_t i = 0; i < st.n; i++) {
        fuzz_touch(st.tensors[i].data, st.tensors[i].size);
        fuzz_check(safetensors_find(&st, st.tensors[i].name) != NULL);
    }
    safetensors_release(&st);
    float *params = calloc(net->param_floats + 1, sizeof *params);
    float *buffers = calloc(net->buffer_floats + 1, sizeof *buffers);
    (void)weights_import(net, data, size, false, params, buffers, NULL, &err);
    static const struct weights_published published = {
        .name = "p", .path = "p", .fresh = {"fc3."}, .alias = {{"fc1.", "fc2."}}};
    (void)weights_import_published(net, data, size, &published, params, buffers, &err);
    free(params);
    free(buffers);
    return 0;
}
