/* What every view of a report is given, and what all of them do with it. */
#pragma once

#include "report/model/model.h"
#include "report/rows/report_options.h"

#include <stdio.h>

struct account;
struct diff;
struct ecm_machine;
struct progress;
struct terminal;

/* Bytes with a wider 95 % interval, relative, are marked. */
#define REPORT_SURE 0.1

/* What every format gets. */
struct report_note {
	char *text; /* clean */
	bool first; /* it changes what one would decide: shown unasked */
};

struct report_view {
	const struct profile *profile;
	const struct model *model;
	const struct terminal *terminal; /* NULL: the formats for files */
	bool shaped;  /* rows by --by, --focus, --ignore, --min; else all functions */
	bool machine; /* no run, the machine's roofs alone */
	const struct report_options *options; /* NULL for a machine */
	enum report_sort sort;
	const size_t *rank; /* rows of model->functions, best first */
	size_t n_rank;      /* = model->n_functions, less those left out */
	size_t n_shown;     /* of them in the table and the picture */
	struct report_note *notes;
	size_t n_notes, cap_notes;
	const struct account *account; /* NULL for a machine */
	/* Kernel time and waits of functions, s, and page faults, by place; NULL for a machine. */
	const double *kernel_times, *wait_times, *page_faults;
	/* The machine of time accounts; NULL: nobody asks for any, or rows are no functions. */
	const struct ecm_machine *ecm;
	const struct diff *diff;   /* NULL, or a comparison whose B this is */
	size_t n_top;              /* of its pairs in the picture */
	struct progress *progress; /* of the file that is written; NULL: of none */
	const char *path;          /* of that file */
};

/* Calls `use` with the view of a part of a profile. */
struct rf_error *report_with_view(const struct profile *profile,
				  const struct report_options *options,
				  struct rf_error *(*use)(struct report_view *view, void *context),
				  void *context);

/* The level that a report is about (DRAM, or the one that was asked for), of a traced
 * function; else NULL.  What moved there in the direction that was asked for. */
const struct model_level *report_level(const struct report_view *view,
				       const struct model_function *f);
const struct model_estimate *report_moved(const struct report_view *view,
					  const struct model_level *level);
/* Flop per byte there; where it was not traced, per LS byte. */
double report_intensity(const struct report_view *view, const struct model_function *f);
/* The same at a level; NULL: per LS byte. */
double report_intensity_at(const struct model_function *f, const char *level);
/* "0.0625", ">10000", "∞", "–" for NAN; in 64 bytes, which they return. */
const char *report_put_intensity(char *cell, double intensity);
/* How much of its roof a point reaches, behind `mark`: "42 %", "–" for NAN, "208 %!" above it (a
 * distance below 1); in 64 bytes, which it returns. */
const char *report_put_of_roof(char *cell, const char *mark, double distance);

/* A bandwidth roof has one name in all views, by its level, its mix and its count of threads, and
 * so one figure, model_level_most(): "fastest mix" (whatever reads and writes the level moves most
 * with), "reading" or "writing" alone. */
const char *report_mix_words(enum traffic_direction direction);
/* The count of threads whose roofs a report shows: the least one measured that is not below what
 * any row of the table has at once, else the greatest; 0: there are no roofs. */
int report_roof_threads(const struct report_view *view);
/* The level that pictures are about, "L1" to "DRAM": the one asked for, else the one that binds
 * most time, where rows with a fifth of the time or more move something; else the farthest such
 * one. NULL: what moved is not known, pictures have LS bytes. */
const char *report_picture_level(const struct report_view *view);
/* "8.10 GB", in 64 bytes. */
const char *report_put_bytes(char *cell, double bytes);
/* The same, and text_number(), in memory that lasts as long as the block around it. */
#define REPORT_BYTES(bytes) report_put_bytes((char[64]){0}, bytes)
#define REPORT_NUMBER(value) text_number((char[TEXT_NUMBER]){0}, value)

/* One format to a file, "-" for standard output; nothing to do for a path of NULL. */
typedef struct rf_error *report_format(const struct report_view *view, FILE *stream);
struct rf_error *report_write_file(const struct report_view *view, report_format *format,
				   const char *path);
/* Tells who waits for the file that `done` of `all` rows are written. */
void report_tell_written(const struct report_view *view, size_t done, size_t all);
/* The program as it was called: first word of the command (quotes removed), clean; to be freed. */
char *report_program(const struct profile *profile);
/* "AVX-512", "AVX2", … for a roof's isa, "DP", "SP" for its precision. */
const char *report_isa_name(enum roof_isa isa);
/* "FMA", "add", … for a compute roof's op. */
const char *report_op_name(enum roof_op op);
const char *report_precision_short(const char *precision);
/* Precision of most flop of the program, "double" without any. */
const char *report_main_precision(const struct model *model);
