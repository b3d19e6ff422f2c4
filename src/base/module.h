/* Loadable parts of fugue: shared objects for what needs a library that not every machine has, so
 * that the program itself builds, starts and runs without it.
 */
#ifndef BASE_MODULE_H
#define BASE_MODULE_H

#include "base/error.h"

/* The address of `symbol` in the shared object fugue_NAME.so, which lies beside the executable, in
 * the folder above it (a build tree's tests) or in ../lib/fugue (an installed program).  Opened at
 * the first use, never closed.  NULL with an error (ERROR_SYSTEM): `need` says what is missing
 * without it and how to get it ("... needs SentencePiece: install ... and build fugue again"). */
const void *module_symbol(const char *name, const char *symbol, const char *need,
                          struct error *err);

#endif
