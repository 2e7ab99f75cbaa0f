/* Steps and formats of report_write, one file each. */
#pragma once

#include "report/model.h"
#include "report/report.h"
#include "report/terminal.h"

/* Bytes with a wider 95 % interval, relative, are marked. */
#define REPORT_SURE 0.1

/* What every format gets. */
struct report_view {
	const struct profile *profile;
	const struct model *model;
	const struct terminal *terminal; /* NULL: the formats for files */
	bool shaped;  /* rows by --by, --focus, --ignore, --min (shape.c); else all functions */
	bool machine; /* no run, the machine's roofs alone */
	const struct report_options *options; /* NULL for a machine */
	enum report_sort sort;
	const size_t *rank; /* rows of model->functions, best first */
	size_t n_rank;      /* = model->n_functions, less those left out */
	size_t n_shown;     /* of them in the table and the picture */
	char **notes;
	size_t n_notes, cap_notes;
	const struct diff *diff; /* NULL, or a comparison whose B this is */
	size_t n_top;            /* of its pairs in the picture */
};

/* report_notes.c: the sentences under the table. */
/* Whether time was seen that was not counted for this reason. */
bool report_has_time(const struct model *model, const char *reason);
struct rf_error *report_notes(struct report_view *view);
/* Adds one; false when memory is short. */
bool report_note(struct report_view *view, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* report_counters.c: those about hardware counters. */
bool report_note_counters(struct report_view *view);
/* And about memory traffic by the PMU. */
bool report_note_memory(struct report_view *view);
/* "the 96.0 MB that main (mesh.c:88) allocates"; not clean. */
void report_object_words(const struct profile *profile, const struct profile_object *object,
			 char *text, size_t size);
void report_notes_deinit(struct report_view *view);

/* report_processes.c: the tree of processes, and with PROCESSES_TREE a table of functions for each;
 * nothing for a single process. */
struct rf_error *report_tree(const struct report_view *view, FILE *stream);
/* report.c: calls `use` with the view of a part of a profile. */
struct rf_error *report_with_view(const struct profile *profile,
				  const struct report_options *options,
				  struct rf_error *(*use)(struct report_view *view, void *context),
				  void *context);

/* shape.c: whether rows are not simply all functions; calls `use` with a view of the rows that are
 * asked for. */
bool report_is_shaped(const struct report_options *options);
struct rf_error *report_shape(const struct report_view *plain,
			      struct rf_error *(*use)(struct report_view *view, void *context),
			      void *context);

/* ranking.c: whether a row is below --min. */
bool report_is_small(const struct report_view *view, const struct model_function *f);

/* terminal_report.c: all that is asked for, to `stream`. */
struct rf_error *report_terminal(const struct report_view *plain, FILE *stream);
/* plot_text.c: the roofline plot (--plot). */
struct rf_error *report_plot(const struct report_view *view, FILE *stream);
/* The key of a rank in plot and table: 1 to 9, a to z, A to Z; 0 behind these. */
char report_plot_key(size_t rank);
/* Where the plot puts a function, across. */
double report_plot_intensity(const struct report_view *view, const struct model_function *f);
/* function_page.c: everything about one function (--function). */
struct rf_error *report_function_page(const struct report_view *plain, FILE *stream);
/* table.c: the line above the table. */
bool report_head(const struct report_view *view, FILE *stream);

/* table.c: the ranked functions alone. */
struct rf_error *report_functions(const struct report_view *view, FILE *stream);
/* What a bound looks like in colour. */
enum style report_bound_style(const struct model_place *place);
/* "0.316 s", in 64 bytes, in a unit that fits `longest`. */
void report_put_time(char *cell, double seconds, double longest);
void report_put_share(char *cell, double share);

/* report_levels.c: what moved at every level (--levels). */
struct rf_error *report_levels(const struct report_view *view, FILE *stream);

/* report.c: the level that a report is about (DRAM, or the one that was asked for), of a traced
 * function; else NULL.  What moved there in the direction that was asked for. */
const struct model_level *report_level(const struct report_view *view,
				       const struct model_function *f);
const struct model_estimate *report_moved(const struct report_view *view,
					  const struct model_level *level);
/* Flop per byte there; where it was not traced, per LS byte. */
double report_intensity(const struct report_view *view, const struct model_function *f);
/* "0.0625", ">10000", "∞", "–" for NAN; in 64 bytes. */
void report_put_intensity(char *cell, double intensity);
/* "8.10 GB", in 64 bytes. */
void report_put_bytes(char *cell, double bytes);

/* json_traffic.c: of a function or a loop; NULL where it was not traced. */
struct json_t;
void report_json_traffic(struct json_t *object, const struct report_view *view,
			 const struct model_function *f);
struct json_t *report_json_loops(const struct report_view *view, const struct model_function *f);
struct json_t *report_json_run_traffic(const struct report_view *view);
struct json_t *report_json_metrics(const struct report_view *view, const struct model_function *f);
/* report_counters.c: the hardware counters; what they say of a function; and set beside what was
 * counted. */
struct json_t *report_json_counters(const struct report_view *view);
struct json_t *report_json_quantities(const struct report_view *view,
				      const struct model_function *f);
void report_json_ratios(struct json_t *object, const struct report_view *view,
			const struct model_function *f);
/* json.c: all but the functions; one function. */
struct json_t *report_json_head(const struct report_view *view);
struct json_t *report_json_function(const struct report_view *view, const struct model_function *f);
struct json_t *report_json_real(double value);
struct json_t *report_json_count(uint64_t value);
struct json_t *report_json_string(const char *text);

/* svg.c, json.c */
struct rf_error *report_svg(const struct report_view *view, FILE *stream);
struct rf_error *report_json(const struct report_view *view, FILE *stream);

/* html.c: one page with all of it. */
struct rf_error *report_html(const struct report_view *view, FILE *stream);
/* html_code.c: the instructions of functions, one compact array each; index and result by `create`
 * are NULL when memory is short. */
struct html_code;
struct html_code *html_code_create(const struct report_view *view);
void html_code_destroy(struct html_code *code);
/* The instructions of a function that were executed, by their offsets, at most `most`; null where
 * there are none or more.  Fields: enum html_code_field in html_code.c. */
struct json_t *html_code_of(struct html_code *code, const struct model_function *f, size_t most);

/* report.c: one format to a file, "-" for standard output; nothing to do for a path of NULL. */
typedef struct rf_error *report_format(const struct report_view *view, FILE *stream);
struct rf_error *report_write_file(const struct report_view *view, report_format *format,
				   const char *path);
struct rf_error *report_no_memory(void);
/* The value of a numeric fact, or `otherwise`. */
double report_number_fact(const struct profile *profile, const char *key, double otherwise);
/* The program as it was called: first word of the command (quotes removed), clean; to be freed. */
char *report_program(const struct profile *profile);
/* "AVX-512", "AVX2", … for a roof's isa, "DP", "SP" for its precision. */
const char *report_isa_name(const char *isa);
const char *report_precision_short(const char *precision);
/* Precision of most flop of the program, "double" without any. */
const char *report_main_precision(const struct model *model);
