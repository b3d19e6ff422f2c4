/* What the test executables do when they are started again as a child: `PROGRAM child MODE`. */
#ifndef TESTS_BASE_HELPER_CHILD_H
#define TESTS_BASE_HELPER_CHILD_H

/* Exit code of the mode; 99 for an unknown one. */
int child_main(const char *mode);

#endif
