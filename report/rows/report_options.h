/* What a report is asked for, and the words of the command line for it. */
#pragma once

#include "base/error.h"
#include "base/words.h"
#include "profile/profile.h"
#include "report/model/model_traffic.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* The formats that other programs read: EXPORT_csv, … */
#define EXPORT(name, writer, check, help) EXPORT_##name,
enum export_format {
#include "report/rows/export_formats.def"
	N_EXPORTS
};
#undef EXPORT

/* What the user named for each format: a path, "-" for standard output, or NULL. */
struct export_paths {
	const char *of[N_EXPORTS];
};

enum report_sort { SORT_HEADROOM, SORT_DISTANCE, SORT_TIME, SORT_FLOPS, SORT_BYTES, SORT_NAME };

/* One table for all processes together, or one for each. */
enum report_processes { PROCESSES_MERGED, PROCESSES_TREE };

/* What a row of the table is. */
enum report_by {
	BY_FUNCTION,
	BY_LOOP,
	BY_LINE,
	BY_MODULE,
	BY_THREAD,
	BY_PROCESS,
	BY_CALL_PATH,
	BY_INLINED,
	BY_PYTHON, /* a table of its own, beside the functions of machine code */
	BY_KERNEL, /* functions with all that they call (--kernel) */
	BY_GROUP,  /* a table of its own in the terminal, as BY_WAIT */
	BY_WAIT    /* a table of its own in the terminal; elsewhere as BY_FUNCTION */
};

enum report_color { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };

struct report_options {
	size_t top; /* rows in the table, points in the picture; 0: 20 */
	enum report_sort sort;
	/* these shape the table, --json, --csv, --svg and --png; other files have all
	 * (report_shape_check) */
	enum report_by by;
	const char *focus, *ignore; /* extended regular expressions, or NULL */
	double min_share; /* of the time of all samples; rows with less are summed up in one */
	/* the terminal alone */
	/* The profile's file, for the commands under the table; "": the one that rfprof report
	 * takes unasked; NULL: there is none. */
	const char *saved_as;
	const char *function; /* a page about this function instead of the table, or NULL */
	bool plot;            /* the roofline plot, under the table */
	bool verbose;         /* all notes and columns */
	enum report_color color;
	bool ascii;   /* nothing but ASCII */
	bool utf8;    /* UTF-8 whatever the locale says */
	size_t width; /* columns; 0: the terminal's */
	/* all formats */
	enum report_processes processes;
	/* "L1", "L2", "L3" or "DRAM": place and rank by its traffic; NULL: the one that binds. */
	const char *level;
	enum traffic_direction direction;
	bool ecm;                 /* time accounts: a table of its own */
	bool levels;              /* every level: a table of its own, and points in the picture */
	const char *svg_path;     /* or NULL */
	const char *json_path;    /* or NULL */
	const char *html_path;    /* or NULL */
	const char *html_compare; /* a profile that the page compares this one with, or NULL */
	bool redact;              /* that one is redacted, too (profile_redact) */
	struct export_paths exports;
	FILE *progress; /* where it is a terminal, it is told how far --json and --html are; or NULL
			 */
};

bool report_is_stdout(const char *path); /* "-" */
/* How many of the files are standard output. */
size_t report_stdout_files(const struct report_options *options);

/* "5%", "5 %" or "5" → 0.05; false for what is not a number from 0 to 100. */
bool report_share_parse(const char *word, double *share);
/* Whether rows are not simply all functions: --by, --focus, --ignore or --min are given.  Python
 * has its own rows. */
bool report_is_shaped(const struct report_options *options);
/* Refuses files that --by, --focus, --ignore and --min have no meaning for, and what has none for
 * Python. */
struct rf_error *report_shape_check(const struct report_options *options);
/* Whether a profile's sums are enough for what is asked for (PROFILE_SUMS). */
bool report_from_sums(const struct report_options *options);
/* Whether anything of it shows time accounts. */
bool report_has_accounts(const struct report_options *options);
/* Whether anything of it shows source lines other than those of functions. */
bool report_has_lines(const struct report_options *options);

/* The words of the command line for the enums above; its parser, its help and completion and the
 * views read the same tables. */
extern const struct rf_word report_sort_words[];      /* enum report_sort */
extern const struct rf_word report_by_words[];        /* enum report_by */
extern const struct rf_word report_color_words[];     /* enum report_color */
extern const struct rf_word report_processes_words[]; /* enum report_processes */
extern const struct rf_word report_direction_words[]; /* enum traffic_direction */
/* "L1" to "DRAM" as 1 to 4; 0, which has no word, is the level that binds. */
extern const struct rf_word report_level_words[];
