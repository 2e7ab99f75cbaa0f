/* Files with which shells complete the command line of rfprof: commands, options, the words that
 * options take, names of files, and programs. */
#pragma once

#include <stdio.h>

void generate_bash(FILE *out);
void generate_zsh(FILE *out);
void generate_fish(FILE *out);
