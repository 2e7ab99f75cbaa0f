/* The table of `rfprof machine`, by libsmartcols. */
#include "machine/data/machine_print.h"

#include "base/text.h"
#include "machine/data/history_print.h"
#include "machine/data/size_print.h"

#include <libsmartcols.h>
#include <stdarg.h>
#include <stdlib.h>

#define NOISY_MARK "~"
#define SAME_MARK "="

/* Rows of one kind (compute, bandwidth, bandwidth by node), a line for each roof, whose rates at
 * several thread counts stand beside each other. */
struct printer {
	const struct machine *machine;
	const int *threads;
	size_t n_threads;
	FILE *stream;
	bool noisy, same; /* marks that were used and must be explained */
	/* The section's table, the line that is filled and its next cell, */
	struct libscols_table *table;
	struct libscols_line *line;
	size_t column;
	int failed; /* and whether something went wrong on the way. */
};

enum section {
	SECTION_COMPUTE,
	SECTION_BANDWIDTH,
	SECTION_ZEROS,
	SECTION_NARROW,
	SECTION_NODES,
	SECTIONS
};

static const char *const titles[SECTIONS] = {"Compute", "Bandwidth",
					     "Bandwidth of data that is all zeros",
					     "Bandwidth by accesses of 8 bytes",
					     "Bandwidth by NUMA node"};

static enum section section_of(const struct roof *roof)
{
	if (roof->by_node)
		return SECTION_NODES;
	static const enum section sections[ROOF_KINDS] = {SECTION_COMPUTE, SECTION_BANDWIDTH,
							  SECTION_ZEROS, SECTION_NARROW};
	return sections[roof->kind];
}

/* True for the same line of the table. */
static bool same_roof(const struct roof *a, const struct roof *b)
{
	return section_of(a) == section_of(b) && roof_is_same(a, b) &&
	       (!a->by_node || (a->cpu_node == b->cpu_node && a->memory_node == b->memory_node));
}

static const struct roof *find(const struct printer *printer, const struct roof *like, int threads)
{
	for (size_t i = 0; i < printer->machine->n_roofs; i++)
		if (same_roof(&printer->machine->roofs[i], like) &&
		    (like->by_node || printer->machine->roofs[i].threads == threads))
			return &printer->machine->roofs[i];
	return NULL;
}

/* ---- cells ---- */

__attribute__((format(printf, 2, 3))) static void add_cell(struct printer *printer,
							   const char *format, ...)
{
	char text[48];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	printer->failed |= scols_line_set_data(printer->line, printer->column++, text);
}

/* best, rate per cycle (compute), median, quartiles, share of theory */
static void add_rates(struct printer *printer, enum section section, const struct roof *roof)
{
	const struct machine *machine = printer->machine;
	const bool compute = section == SECTION_COMPUTE;
	if (!roof) {
		printer->column += 4 + compute;
		return;
	}
	printer->noisy |= roof->noisy;
	printer->same |= !roof->distinguishable;
	add_cell(printer, "%s%s%.2f", roof->noisy ? NOISY_MARK : "",
		 roof->distinguishable ? "" : SAME_MARK, roof->best);
	if (compute)
		add_cell(printer, "%.3g",
			 roof_per_cycle(roof, machine->clock_ghz, machine->clock_fp_ghz));
	add_cell(printer, "%.2f", roof->median);
	add_cell(printer, "%.2f–%.2f", roof->q1, roof->q3);
	if (roof->theory > 0)
		add_cell(printer, "%.1f %%", 100 * roof->best / roof->theory);
	else
		printer->column++;
}

static void add_line(struct printer *printer, enum section section, const struct roof *roof)
{
	printer->line = scols_table_new_line(printer->table, NULL);
	printer->column = 0;
	if (section == SECTION_COMPUTE) {
		add_cell(printer, "%s", roof_precision_name(roof->precision));
		add_cell(printer, "%s", roof_isa_name(roof->isa));
	} else if (section != SECTION_NODES) {
		add_cell(printer, "%s", roof_level_name(roof->level));
	} else {
		add_cell(printer, "%d → %d%s", roof->cpu_node, roof->memory_node,
			 roof->cpu_node == roof->memory_node ? " local" : " remote");
	}
	add_cell(printer, "%s", roof_op_name(roof->op));
	if (section == SECTION_NODES)
		add_rates(printer, section, roof);
	for (size_t i = 0; i < printer->n_threads && section != SECTION_NODES; i++)
		add_rates(printer, section, find(printer, roof, printer->threads[i]));
	add_cell(printer, "%s", roof->unit);
}

/* ---- tables ---- */

static void add_column(struct printer *printer, const char *name, int flags)
{
	printer->failed |= !scols_table_new_column(printer->table, name, 0, flags);
}

static void add_rate_columns(struct printer *printer, enum section section, const char *heading)
{
	const char *const names[] = {heading, "per cycle", "median", "quartiles", "of theory"};
	for (int i = 0; i < 5; i++)
		if (i != 1 || section == SECTION_COMPUTE)
			add_column(printer, names[i], SCOLS_FL_RIGHT);
}

static void add_columns(struct printer *printer, enum section section)
{
	static const char *const names[SECTIONS][3] = {
		{"precision", "isa", "op"},
		{"level", "op"},
		{"level", "op"},
		{"level", "op"},
		{"nodes", "op"},
	};
	for (int i = 0; i < 3 && names[section][i]; i++)
		add_column(printer, names[section][i], 0);
	if (section == SECTION_NODES)
		add_rate_columns(printer, section, "best");
	for (size_t i = 0; i < printer->n_threads && section != SECTION_NODES; i++) {
		char heading[32];
		snprintf(heading, sizeof(heading), "%d thread%s", printer->threads[i],
			 printer->threads[i] == 1 ? "" : "s");
		add_rate_columns(printer, section, heading);
	}
	add_column(printer, "unit", 0);
}

/* One line for each roof of the section; the first row of a roof stands for it. */
static void add_lines(struct printer *printer, enum section section)
{
	const struct machine *machine = printer->machine;
	for (size_t i = 0; i < machine->n_roofs && !printer->failed; i++) {
		const struct roof *roof = &machine->roofs[i];
		bool first = section_of(roof) == section, shown = roof->by_node;
		for (size_t k = 0; first && k < i; k++)
			first = !same_roof(&machine->roofs[k], roof);
		for (size_t k = 0; k < printer->n_threads; k++) {
			const struct roof *row = find(printer, roof, printer->threads[k]);
			shown |= row && (section != SECTION_ZEROS || row->distinguishable);
		}
		if (first && shown)
			add_line(printer, section, roof);
	}
}

static void print_section(struct printer *printer, enum section section)
{
	printer->table = scols_new_table();
	printer->failed |= scols_table_set_stream(printer->table, printer->stream);
	add_columns(printer, section);
	add_lines(printer, section);
	if (!printer->failed && scols_table_get_nlines(printer->table)) {
		fprintf(printer->stream, "\n%s\n", titles[section]);
		printer->failed |= scols_print_table(printer->table);
	}
	scols_unref_table(printer->table);
}

/* ---- what stands around them ---- */

static void print_head(const struct machine *machine, FILE *stream)
{
	fprintf(stream, "%s", machine->cpu_model);
	if (machine->microarchitecture)
		fprintf(stream, " (%s)", machine->microarchitecture);
	fprintf(stream, ", %d usable hardware thread%s, %.2f GHz", machine->usable_threads,
		machine->usable_threads == 1 ? "" : "s", machine->clock_ghz);
	if (machine->clock_fp_ghz > 0)
		fprintf(stream, " (%.2f GHz under vector code)", machine->clock_fp_ghz);
	fputc('\n', stream);
	for (size_t i = 0; i < machine->n_caches; i++) {
		const struct machine_cache *cache = &machine->caches[i];
		fprintf(stream, "L%d %llu KiB, lines of %llu B, shared by %d\n", cache->level,
			(unsigned long long)cache->size_bytes >> 10,
			(unsigned long long)cache->line_bytes, cache->shared_by);
	}
}

/* What each operation counts as bytes, once. */
static void print_conventions(const struct printer *printer)
{
	const struct machine *machine = printer->machine;
	bool any = false;
	for (size_t i = 0; i < machine->n_roofs; i++) {
		const struct roof *roof = &machine->roofs[i];
		bool first = roof->kind == ROOF_BANDWIDTH;
		for (size_t k = 0; first && k < i; k++)
			first = machine->roofs[k].kind != ROOF_BANDWIDTH ||
				machine->roofs[k].op != roof->op;
		if (!first)
			continue;
		fprintf(printer->stream, "%s  %-9s  %s\n",
			any ? "" : "\nBytes that count as moved\n", roof_op_name(roof->op),
			roof->bytes_convention);
		any = true;
	}
}

static void print_marks(const struct printer *printer)
{
	if (printer->noisy)
		fputs(NOISY_MARK
		      " noisy: the quartiles are 5 % or more of the median apart, even after "
		      "longer measuring\n",
		      printer->stream);
	if (printer->same)
		fputs(SAME_MARK
		      " less than 15 % above the next level (zeros: above other data): cannot be "
		      "told from it, not a roof of its own\n",
		      printer->stream);
}

static void print_other_counts(const struct printer *printer)
{
	const struct machine *machine = printer->machine;
	bool any = false;
	for (size_t i = 0; i < machine->n_counts; i++) {
		bool shown = false;
		for (size_t k = 0; k < printer->n_threads; k++)
			shown |= printer->threads[k] == machine->counts[i].threads;
		if (!shown)
			fprintf(printer->stream, "%s%d",
				any ? ", " : "also measured, shown by --threads: ",
				machine->counts[i].threads);
		any |= !shown;
	}
	if (any)
		fputc('\n', printer->stream);
}

/* What a line costs that threads write in turns. */
static void print_transfers(const struct machine *machine, FILE *stream)
{
	if (!machine->n_transfers) {
		fputs("\nA line that two threads write in turns: not measured, for there are no "
		      "two "
		      "hardware threads\n",
		      stream);
		return;
	}
	fputs("\nA line that two threads write in turns, ns for each move\n", stream);
	for (size_t i = 0; i < machine->n_transfers; i++) {
		const struct line_transfer *transfer = &machine->transfers[i];
		fprintf(stream, "  threads of %-16s %6.1f  (quartiles %.1f–%.1f, best %.1f)\n",
			line_way_words(transfer->way), transfer->median_ns, transfer->q1_ns,
			transfer->q3_ns, transfer->best_ns);
	}
}

/* What it costs that lines lie far apart. */
static void print_pages(const struct page_costs *pages, FILE *stream)
{
	static const char *const levels[] = {"L2", "L3", "memory"};
	if (!pages->measured)
		return;
	fputs("\nLines that lie a page apart, ns for each, one thread\n", stream);
	for (int i = 0; i < 3; i++)
		if (pages->one_set_ns[i] > 0)
			fprintf(stream, "  of one set of L1, independent, in %-6s %6.1f\n",
				levels[i], pages->one_set_ns[i]);
	if (pages->last_pages)
		fprintf(stream,
			"  in the TLBs' reach of %u and %u pages of 4 KiB: 0 and %.1f more (%.1f "
			"where independent)\n"
			"  beyond it %.1f more (%.1f), in huge pages %.1f (%.1f)\n",
			pages->first_pages, pages->last_pages, pages->second_ns[0],
			pages->second_ns[1], pages->walk_ns[0], pages->walk_ns[1],
			pages->huge_walk_ns[0], pages->huge_walk_ns[1]);
}

static struct rf_error *print_all(const struct machine *machine, const int *threads,
				  size_t n_threads, FILE *stream)
{
	int ends[2] = {0};
	struct printer printer = {machine, threads, n_threads, stream};
	if (!threads && machine->n_counts) {
		ends[printer.n_threads++] = machine->counts[0].threads;
		if (machine->n_counts > 1)
			ends[printer.n_threads++] = machine->counts[machine->n_counts - 1].threads;
		printer.threads = ends;
	}
	print_head(machine, stream);
	for (enum section section = 0; section < SECTIONS; section++)
		print_section(&printer, section);
	if (printer.failed)
		return rf_error_create(RF_EINTERNAL, NULL, "cannot make the table of roofs");
	print_marks(&printer);
	print_conventions(&printer);
	print_other_counts(&printer);
	print_transfers(machine, stream);
	print_pages(&machine->pages, stream);
	struct rf_error *error = machine_print_history(machine, stream);
	if (!error)
		error = machine_print_sizes(machine, stream);
	if (error)
		return error;
	for (size_t i = 0; i < machine->n_notes; i++)
		fprintf(stream, "note: %s\n", machine->notes[i]);
	return NULL;
}

struct rf_error *machine_print(const struct machine *machine, const int *threads, size_t n_threads,
			       FILE *stream)
{
	const struct utf8_locale locale = utf8_locale_begin();
	struct rf_error *error = print_all(machine, threads, n_threads, stream);
	utf8_locale_end(locale);
	return error;
}
