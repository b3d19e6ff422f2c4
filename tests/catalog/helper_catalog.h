/* What the tests of the catalogue share. */
#ifndef TESTS_CATALOG_HELPER_H
#define TESTS_CATALOG_HELPER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "catalog/experiment.h"
#include "catalog/registry.h"

/* The definition read; the test fails with the error's text otherwise. */
struct experiment *experiment_of(const char *id, const char *json);
/* The text of the error a definition gives; the test fails when it gives none.  Static buffer. */
const char *definition_error(const char *json);
/* The experiment of the built-in catalogue, as a copy. */
struct experiment *builtin_copy(const char *id);
/* A registry of the built-in experiments only. */
void load_builtins_only(struct registry *r);

/* A fresh folder with experiments.json of that text (NULL: without); malloc'd path. */
char *registry_folder(const char *text);
void remove_registry_folder(char *path);

/* The value of a net's optimiser option in JSON written back. */
double kwarg(const json_t *def, const char *name);

#define assert_contains(text, part) check_contains((text), (part), __FILE__, __LINE__)
void check_contains(const char *text, const char *part, const char *file, int line);

#endif
