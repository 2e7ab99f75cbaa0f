/* Libraries that do nothing of their own accord, but what a program asks them for: libc, the
 * dynamic linker, run-time libraries of languages and threads. */
#pragma once

#include <stdbool.h>

/* By the base name of the module. */
bool profile_is_system_module(const char *name);
