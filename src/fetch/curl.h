/* libcurl, opened when a download begins: linking it would add its thirty libraries (12 to 17 ms)
 * to the start of every cell and worker.  Types and constants are those of its own header. */
#ifndef FETCH_CURL_H
#define FETCH_CURL_H

#include "base/error.h"

#include <curl/curl.h>

struct curl_api {
    CURL *(*easy_init)(void);
    CURLcode (*easy_setopt)(CURL *, CURLoption, ...);
    CURLcode (*easy_getinfo)(CURL *, CURLINFO, ...);
    const char *(*easy_strerror)(CURLcode);
    void (*easy_cleanup)(CURL *);
    CURLM *(*multi_init)(void);
    CURLMcode (*multi_add_handle)(CURLM *, CURL *);
    CURLMcode (*multi_remove_handle)(CURLM *, CURL *);
    CURLMcode (*multi_perform)(CURLM *, int *);
    CURLMcode (*multi_poll)(CURLM *, struct curl_waitfd[], unsigned, int, int *);
    CURLMsg *(*multi_info_read)(CURLM *, int *);
    CURLMcode (*multi_cleanup)(CURLM *);
};

/* NULL with an error that names the package when the library is not there.  Opened once; it stays
 * until the process ends. */
const struct curl_api *curl_open(struct error *err);

#endif
