/* Where the library that is preloaded into programs lies. */
#pragma once

#include "base/error.h"

/* Finds librfprof_shim.so: $RFPROF_SHIM, else beside this program's build folder (preload/ in one
 * of the folders above it), else where it is installed.  *path is for free(). */
struct rf_error *shim_path_find(char **path);
