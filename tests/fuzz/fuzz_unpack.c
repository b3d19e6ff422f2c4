/* needs: src/fetch/unpack.h unpack_run */
#include "fetch/tree.h"
#include "fetch/unpack.h"
#include "fuzz.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_BYTES 100000

/* tar, tar.gz, tar.zst and zip: whatever an archive says, no more than MAX_BYTES are written, all
 * of it below the folder, and only files and folders. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char root[64], archive[96], folder[96], around[96];
    struct error err = ERROR_INIT;
    if (!*root) {
        snprintf(root, sizeof root, "/dev/shm/fugue_fuzz_%ld", (long)getpid());
        snprintf(archive, sizeof archive, "%s.archive", root);
        snprintf(around, sizeof around, "%s/around", root);
        snprintf(folder, sizeof folder, "%s/around/folder", root);
    }
    mkdir(root, 0700);
    mkdir(around, 0700);
    mkdir(folder, 0700);
    FILE *f = fopen(archive, "w");
    if (!f)
        return 0;
    fwrite(data, 1, size, f);
    fclose(f);
    const struct unpack u = {
        .archive = archive, .folder = folder, .take = "set", .max_bytes = MAX_BYTES};
    if (!unpack_run(&u, &err))
        fuzz_check_error(err);
    fuzz_check(tree_bytes(folder) <= MAX_BYTES);
    fuzz_check(tree_bytes(root) == tree_bytes(folder));
    fuzz_check(tree_remove(root, NULL, &err));
    unlink(archive);
    return 0;
}
