/* The plot of latency and bandwidth by size for `rfprof machine`, by libsmartcols. */
#include "machine/data/size_print.h"

#include "base/text.h"
#include "machine/data/size_curve.h"

#include <libsmartcols.h>
#include <math.h>
#include <string.h>

#define SIZE_TEXT 24
#define BAR 20
#define BLOCK "█"

struct plot {
	const struct size_point *sizes;
	size_t n;
	struct size_knee knees[SIZE_KNEES];
	size_t n_knees;
	double latency[2], read[2]; /* lowest and highest of all sizes */
};

/* "4 MiB"; text of at most 15 bytes. */
static const char *size_text(char buffer[static SIZE_TEXT], uint64_t bytes)
{
	const bool mib = bytes >= 1 << 20;
	const double value = (double)bytes / (mib ? 1 << 20 : 1 << 10);
	snprintf(buffer, SIZE_TEXT, value < 10 && value != floor(value) ? "%.1f %s" : "%.0f %s",
		 value, mib ? "MiB" : "KiB");
	return buffer;
}

/* Blocks for a value on a logarithmic scale: one for the lowest, BAR for the highest. */
static void put_bar(char bar[BAR * sizeof(BLOCK)], double value, const double range[2])
{
	const double share =
		range[1] > range[0] ? log(value / range[0]) / log(range[1] / range[0]) : 1;
	const int blocks = 1 + (int)lround(share * (BAR - 1));
	bar[0] = '\0';
	for (int i = 0; i < blocks && i < BAR; i++)
		strcat(bar, BLOCK);
}

static void put_remark(char *remark, size_t size, const struct plot *plot, size_t i)
{
	char from[TEXT_NUMBER], to[TEXT_NUMBER], behind[SIZE_TEXT];
	remark[0] = '\0';
	for (size_t k = 0; k < plot->n_knees; k++)
		if (plot->knees[k].before == i)
			snprintf(remark, size, "knee: %s → %s ns up to %s",
				 text_number(from, size_latency(plot->sizes, plot->n, i)),
				 text_number(to, size_latency(plot->sizes, plot->n,
							      plot->knees[k].behind)),
				 size_text(behind, plot->sizes[plot->knees[k].behind].bytes));
}

static int add_line(struct libscols_table *table, const struct plot *plot, size_t i)
{
	const struct size_point *at = &plot->sizes[i];
	char size[SIZE_TEXT], latency[32], read[32], remark[96];
	char latency_bar[BAR * sizeof(BLOCK)], read_bar[BAR * sizeof(BLOCK)];
	struct libscols_line *line = scols_table_new_line(table, NULL);
	int failed = !line;
	snprintf(latency, sizeof(latency), "%.1f ns", at->latency_ns);
	snprintf(read, sizeof(read), "%.0f GB/s", at->read_gbs);
	put_bar(latency_bar, at->latency_ns, plot->latency);
	put_bar(read_bar, at->read_gbs, plot->read);
	put_remark(remark, sizeof(remark), plot, i);
	const char *const cells[] = {
		size_text(size, at->bytes), latency, latency_bar, read, read_bar, remark};
	for (size_t k = 0; k < sizeof(cells) / sizeof(*cells) && !failed; k++)
		failed = scols_line_set_data(line, k, cells[k]);
	return failed;
}

static int print_table(const struct plot *plot, FILE *stream)
{
	static const struct {
		const char *name;
		int flags;
	} columns[] = {{"size", SCOLS_FL_RIGHT},
		       {"latency", SCOLS_FL_RIGHT},
		       {"", 0},
		       {"reads", SCOLS_FL_RIGHT},
		       {"", 0},
		       {"", 0}};
	struct libscols_table *table = scols_new_table();
	int failed = !table || scols_table_set_stream(table, stream);
	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns) && !failed; i++)
		failed = !scols_table_new_column(table, columns[i].name, 0, columns[i].flags);
	for (size_t i = 0; i < plot->n && !failed; i++)
		failed = add_line(table, plot, i);
	if (!failed)
		failed = scols_print_table(table);
	scols_unref_table(table);
	return failed;
}

static struct plot make_plot(const struct machine *machine)
{
	struct plot plot = {.sizes = machine->sizes,
			    .n = machine->n_sizes,
			    .latency = {INFINITY, 0},
			    .read = {INFINITY, 0}};
	plot.n_knees = size_knees(plot.sizes, plot.n, plot.knees);
	for (size_t i = 0; i < plot.n; i++) {
		plot.latency[0] = fmin(plot.latency[0], plot.sizes[i].latency_ns);
		plot.latency[1] = fmax(plot.latency[1], plot.sizes[i].latency_ns);
		plot.read[0] = fmin(plot.read[0], plot.sizes[i].read_gbs);
		plot.read[1] = fmax(plot.read[1], plot.sizes[i].read_gbs);
	}
	return plot;
}

static void print_verdict(const struct machine *machine, FILE *stream)
{
	const struct size_verdict verdict = size_verdict(machine);
	char reported[SIZE_TEXT], effective[SIZE_TEXT], chase[SIZE_TEXT], read[SIZE_TEXT];
	if (machine->sizes_in_small_pages)
		fputs("no huge pages could be had: latencies include misses of the TLB\n", stream);
	if (!verdict.chase_end || (verdict.clear && verdict.effective == verdict.reported))
		return;
	size_text(reported, verdict.reported);
	size_text(effective, verdict.effective);
	size_text(chase, verdict.chase_end);
	size_text(read, verdict.read_end);
	fprintf(stream,
		"the last cache is reported with %s, but chases are as in memory from %s on, reads "
		"from %s on.\n",
		reported, chase, read);
	if (verdict.clear)
		fprintf(stream,
			"One thread has about %s of it; that is what rfprof simulates "
			"(--cache=nominal: as reported).\n",
			effective);
	else
		fputs("How much of it one has depends on how fast one uses it, as where others use "
		      "it too; rfprof simulates the reported size.\n",
		      stream);
}

struct rf_error *machine_print_sizes(const struct machine *machine, FILE *stream)
{
	if (!machine->n_sizes)
		return NULL;
	const struct plot plot = make_plot(machine);
	fputs("\nBy size, one thread: chases in random order, and reads (bars: logarithms)\n",
	      stream);
	if (print_table(&plot, stream))
		return rf_error_create(RF_EINTERNAL, NULL, "cannot make the plot by size");
	print_verdict(machine, stream);
	return NULL;
}
