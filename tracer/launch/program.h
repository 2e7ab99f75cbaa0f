/* The program that the user wants to run: found as a shell would find it, and looked at before
 * anything is started, so that what cannot work is said at once. */
#pragma once

#include "base/error.h"

/* Finds `name` (in $PATH when it has no slash) and checks that it can be run and counted: a regular
 * executable file, an ELF program for x86-64, or a script whose interpreter is one (`#!` is
 * followed); not setuid or setgid.  *path gets the file to execute; for free(). */
struct rf_error *program_find(const char *name, char **path);
