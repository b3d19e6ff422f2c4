/* needs: src/nn/json_net.h json_net_build */
#include "fuzz.h"
#include "nn/json_net.h"

#include <string.h>
#include <unistd.h>

/* A network described in a file, for images and for vectors. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char path[64];
    if (!*path)
        snprintf(path, sizeof path, "/dev/shm/fugue_fuzz_%ld.json", (long)getpid());
    FILE *f = fopen(path, "w");
    if (!f)
        return 0;
    fwrite(data, 1, size, f);
    fclose(f);
    const struct shape shapes[] = {shape_image(8, 8, 3), shape_vector(5)};
    for (int i = 0; i < 2; i++) {
        struct error err = ERROR_INIT;
        struct graph *g = json_net_build(path, shapes[i], 3, &err);
        if (!g)
            fuzz_check_error(err);
        graph_free(g);
    }
    unlink(path);
    return 0;
}
