/* Whether kept code has come back from a file as it was. */
#pragma once

#include "profile/profile.h"
#include "tracer/stock/code_file.h"
#include "tracer/translate/kept_code.h"

/* A profile with the modules of translated_process.h, which have the numbers that `locate` gives
 * there, plus `shift`. */
struct profile *profile_with_modules(unsigned shift);

/* Through the bytes of a file and back, to modules that have numbers greater by `shift`; `kept` is
 * released. Compares each list. */
struct kept_code *keep_in_file(struct kept_code *kept, unsigned shift);

/* The bytes of the file, heap. */
char *file_bytes(const struct kept_code *kept, const struct code_names *names, size_t *size);
