/* A spec held against the table: how registry.c (names, files), describe.c (what files say) and
 * load.c (contents) work together. */
#ifndef DATA_REQUEST_H
#define DATA_REQUEST_H

#include "data/loader.h"

struct data_request {
    struct data_args args;
    struct data_info info; /* the row's, with the sizes of synthetic content in it */
};

/* Name, path and arguments are valid, and the content asked for can be had by this version; files
 * are not looked at.  After false there is nothing to release. */
bool data_request_parse(struct data_request *r, const char *text, const char *root, bool synthetic,
                        struct error *err);
void data_request_release(struct data_request *r);
/* The row's `present`, or what stands for it. */
bool data_request_present(const struct data_request *r, const char *root, struct error *err);
/* Puts what the files say into r->info (the row's `describe`), from memory where they are the same
 * as before. */
bool data_request_describe(struct data_request *r, const char *root, struct error *err);
/* Its targets are tokens. */
bool data_predicts_tokens(const struct data_info *info);

#endif
