/* Published weights: which a job starts from, and whether they fit its network. */
#include "base/file.h"
#include "base/text.h"
#include "data/dataset.h"
#include "exec/executor.h"
#include "nn/model.h"

#include <stdlib.h>
#include <string.h>

const struct weights_published *job_pretrained(const struct job *job,
                                               const struct exec_options *options)
{
    const struct weights_published *published = model_published(job->net.model);
    if (!published || !*options->pretrained)
        return NULL;
    struct text_list names;
    text_list_init(&names);
    text_split(&names, options->pretrained, ',');
    const bool used = text_list_has(&names, published->name);
    text_list_release(&names);
    return used ? published : NULL;
}

bool job_pretrained_fit(const struct job *job, const struct exec_options *options,
                        const struct weights_published *published, struct error *err)
{
    struct data_info info;
    struct file_map file;
    if (!data_describe(job->net.dataset, options->synthetic, &info, err))
        return false;
    char *path = path_join(options->data_root, published->path);
    bool ok = file_map_open(&file, path, err);
    struct graph *g = ok ? model_build(job->net.model, info.shape, info.n_outputs, err) : NULL;
    ok = g && weights_import_published(g, file.data, file.len, published, NULL, NULL, err);
    if (!ok)
        error_prefix(err, "pretrained weights '%s'", path);
    graph_free(g);
    file_map_close(&file);
    free(path);
    return ok;
}
