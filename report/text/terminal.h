/* What the text of a report may use of the terminal that it goes to: width, colours, characters. */
#pragma once

#include "report/rows/report_options.h"

#include <stdbool.h>
#include <stdio.h>

/* Columns where the text goes to a file or a pipe and no width was asked for. */
#define TERMINAL_DEFAULT_COLUMNS 80
#define TERMINAL_LEAST_COLUMNS 40
#define TERMINAL_MOST_COLUMNS 10000

struct terminal {
	size_t columns;
	bool colour;
	bool ascii;      /* nothing but ASCII */
	bool plot_ascii; /* the plot without braille */
};

/* Width: options->width, else the environment's COLUMNS, the terminal's own, or the default.
 * Colours: options->color, else NO_COLOR, CLICOLOR_FORCE and CLICOLOR (in this order) and whether
 * `stream` is a terminal.  Characters: options->ascii, else ASCII on a terminal whose locale is not
 * UTF-8, and for the plot wherever the locale is not. */
struct terminal terminal_of(FILE *stream, const struct report_options *options);

enum style {
	STYLE_PLAIN,
	STYLE_HEAD,
	STYLE_DIM,
	STYLE_MEMORY,
	STYLE_COMPUTE,
	STYLE_BALANCED,
	STYLE_ISSUE,
	STYLE_LATENCY,
	STYLE_FAULT,
	N_STYLES
};
/* The escape sequence that begins a style, or "" where there is none or no colour. */
const char *terminal_begin(const struct terminal *terminal, enum style style);
/* The one that ends it, or "". */
const char *terminal_end(const struct terminal *terminal, enum style style);

/* Copy of clean text as the terminal can show it; with ascii, what stands for it there, or "?".
 * Marks that combine with the character before them are kept to two.  NULL: no memory. */
char *terminal_text(const struct terminal *terminal, const char *clean);
/* Writes `lead` and then the clean `text`, broken to the width, further lines indented as far as
 * `lead` reaches.  Fails only when memory is short. */
struct rf_error *terminal_sentence(const struct terminal *terminal, FILE *stream, enum style style,
				   const char *lead, const char *text);
