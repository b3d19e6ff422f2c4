#include "data/text/sentencepiece_module.h"

#include <sentencepiece_processor.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

/* No exception may leave: the callers are C. */
namespace
{

using sentencepiece::SentencePieceProcessor;

void *open_model(const char *bytes, size_t len, char *why, size_t room)
{
    try {
        auto *model = new SentencePieceProcessor;
        const auto status = model->LoadFromSerializedProto(absl::string_view(bytes, len));
        if (status.ok())
            return model;
        snprintf(why, room, "%s", status.ToString().c_str());
        delete model;
    } catch (const std::exception &e) {
        snprintf(why, room, "%s", e.what());
    }
    return nullptr;
}

void close_model(void *model)
{
    delete static_cast<SentencePieceProcessor *>(model);
}

int32_t n_pieces(const void *model)
{
    return static_cast<const SentencePieceProcessor *>(model)->GetPieceSize();
}

int64_t encode(const void *model, const char *text, size_t len, int32_t *pieces, size_t max)
{
    try {
        std::vector<int> all;
        const auto *processor = static_cast<const SentencePieceProcessor *>(model);
        if (!processor->Encode(absl::string_view(text, len), &all).ok())
            return -1;
        std::copy_n(all.begin(), std::min(all.size(), max), pieces);
        return static_cast<int64_t>(all.size());
    } catch (const std::exception &) {
        return -1;
    }
}

} // namespace

const struct sentencepiece_module fugue_sentencepiece = {
    SENTENCEPIECE_MODULE_VERSION, open_model, close_model, n_pieces, encode,
};
