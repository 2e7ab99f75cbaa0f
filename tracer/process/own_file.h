/* The file of this very program, and how it is started once more. */
#pragma once

#include <stddef.h>

/* "/proc/self/exe", or, where the dynamic linker was asked to run this program and is that, the
 * path of the file that this code is mapped from.  Static text. */
const char *own_file(void);

#define OWN_WORDS 6
/* The first words of a command that is to run "/proc/self/exe" as this program; its own words
 * follow. Static texts.  Returns how many, at most OWN_WORDS. */
size_t own_words(char *words[OWN_WORDS]);
