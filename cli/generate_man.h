/* The sections of the man page that list options. */
#pragma once

#include <stdio.h>

/* Copies a man page and writes anew what stands between a line `.\" options of COMMAND` (run,
 * machine, diff, doctor) and the next line `.\" end of options`. */
void generate_man(FILE *page, FILE *out);
