/* Profile files from elsewhere, and what a report makes of their rows.
 *
 * An input that starts like an SQLite file is loaded as it is.  Any other input is spread over the
 * rows of a small profile (code, counts, times, names), saved, loaded and reported: the values get
 * past SQLite's own checks, which bytes flipped in a file seldom do. */
#include "report/model/model.h"
#include "report/report.h"
#include "tests/unit/report/report_sample.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
	const uint8_t *data;
	size_t size, at;
};

static uint64_t take(struct input *input, int bytes)
{
	uint64_t value = 0;
	for (int i = 0; i < bytes; i++)
		value = value << 8 | (input->size ? input->data[input->at++ % input->size] : 0);
	return value;
}

/* What a file may have: profile_schema.c has the ranges. */
static uint64_t take_amount(struct input *input)
{
	return take(input, 8) >> 12;
}

static char *take_text(struct input *input)
{
	char *text = calloc(1, 40);
	for (int i = 0; text && i < 39; i++)
		text[i] = (char)take(input, 1);
	return text;
}

static void spread(struct profile *profile, struct input *input)
{
	for (size_t i = 0; i < profile->n_blocks; i++) {
		profile->blocks[i].start = take(input, 8);
		for (uint32_t k = 0; k < profile->blocks[i].size; k++)
			profile->blocks[i].bytes[k] = (uint8_t)take(input, 1);
	}
	for (size_t i = 0; i < profile->n_functions; i++) {
		struct profile_function *function = &profile->functions[i];
		uint64_t a = take(input, 8), b = take(input, 8);
		function->start = a < b ? a : b;
		function->end = a < b ? b : a;
		free(function->name);
		function->name = take_text(input);
	}
	for (size_t i = 0; i < profile->n_counts; i++)
		profile->counts[i].n = (int64_t)take_amount(input);
	for (size_t i = 0; i < profile->n_units; i++)
		profile->units[i].n = take_amount(input);
	for (uint32_t i = 0; i < 8; i++) {
		const enum profile_run run = take(input, 1) & 1 ? RUN_TIMED : RUN_COUNTED;
		uint32_t row =
			profile_process(profile, run,
					(int)take(input, 1) % 2 + (run == RUN_TIMED ? 100 : 200),
					i ? (uint32_t)take(input, 1) % i : PROFILE_NONE);
		if (row == PROFILE_NONE || row != i)
			break;
		profile->processes[row].twin =
			i && take(input, 1) & 1 ? (uint32_t)take(input, 1) % i : PROFILE_NONE;
		profile->processes[row].exit_status = (int)take(input, 4);
		profile->processes[row].end_ns = take_amount(input);
		char *command = take_text(input);
		profile_process_command(profile, row, command ? command : "");
		free(command);
		if (take(input, 1) & 1)
			profile_native_process(profile, profile->processes[row].pid, "fuzz");
	}
	profile_native_thread(profile, (uint32_t)take(input, 1) % (uint32_t)profile->n_threads,
			      "fuzz");
	for (size_t i = 0; i < profile->n_samples; i += 100) {
		profile->samples[i].time_ns = take_amount(input);
		profile->samples[i].weight_ns = take_amount(input);
	}
	for (size_t i = 0; i < profile->n_roofs; i++) {
		profile->roofs[i].best = (double)take(input, 5) / (double)(take(input, 4) + 1);
		profile->roofs[i].threads = (int)(take(input, 4) % PROFILE_MAX_CPUS);
	}
}

/* What moved: where, how much, whose. */
static void spread_traffic(struct profile *profile, struct input *input)
{
	sample_data(profile);
	struct packed_rows spread = {0};
	struct packed_reader reader = packed_reader_of(&profile->traffic);
	const struct profile_traffic *from;
	while ((from = packed_reader_next(&reader))) {
		struct profile_traffic row = *from;
		row.class = (uint32_t)take(input, 1);
		if (take(input, 1) & 1)
			row.offset = take(input, 8);
		for (int e = 0; e < N_TRAFFIC; e++)
			row.lines[e] = take(input, 1) & 1 ? take_amount(input) : row.lines[e];
		(void)packed_rows_add(&spread, &row, sizeof(row));
	}
	packed_rows_deinit(&profile->traffic);
	profile->traffic = spread;
	for (size_t i = 0; i < profile->n_objects; i++) {
		free(profile->objects[i].name);
		profile->objects[i].name = take_text(input);
		profile->objects[i].kind = (enum object_kind)(take(input, 1) % (OBJECT_CODE + 1));
		profile->objects[i].bytes = take_amount(input);
	}
	for (size_t i = 0; i < profile->n_object_traffic; i++)
		profile->object_traffic[i].read = take_amount(input);
	for (size_t i = 0; i < profile->n_strides; i++) {
		profile->strides[i].random = take_amount(input);
		profile->strides[i].step = (int64_t)take_amount(input);
		profile->strides[i].used = take_amount(input);
	}
	for (size_t i = 0; i < profile->n_working_sets; i++) {
		profile->working_sets[i].capacity = take(input, (int)(take(input, 1) % 8));
		profile->working_sets[i].reads = take_amount(input);
	}
	char *geometry = take_text(input);
	if (take(input, 1) & 1)
		profile_set_fact(profile, "traffic_geometry", "L%u=%s",
				 (unsigned)take(input, 1) % 5, geometry ? geometry : "");
	free(geometry);
	profile_set_fact(profile, "traffic_classes", "%u", (unsigned)take(input, 1) % 80);
	profile_set_fact(profile, "untraced_accesses", "%llu",
			 (unsigned long long)take_amount(input));
}

static void add_lines(struct profile *profile, struct input *input)
{
	for (int i = 0; i < 4 && profile->n_modules; i++) {
		struct profile_line line = {(uint32_t)take(input, 1) % (uint32_t)profile->n_modules,
					    0x1000 + take(input, 2), 0, strdup("a.c"),
					    (uint32_t)take(input, 1)};
		line.end = line.start + take(input, i ? 1 : 8);
		if (line.end < line.start || !line.file ||
		    !rf_array_push(profile->lines, profile->n_lines, profile->cap_lines, line))
			free(line.file);
	}
}

static void report(const struct profile *profile)
{
	struct report_options all[] = {
		{.processes = PROCESSES_TREE,
		 .levels = true,
		 .svg_path = "/dev/null",
		 .json_path = "/dev/null"},
		{.by = BY_LOOP, .plot = true, .utf8 = true, .width = 40},
		{.by = BY_LINE, .focus = "a", .min_share = 0.01},
		{.by = BY_MODULE, .ignore = "triad"},
		{.by = BY_THREAD, .focus = "dot"},
		{.by = BY_PROCESS, .ascii = true},
		{.by = BY_CALL_PATH, .plot = true, .level = "L2"},
		{.function = "triad", .color = COLOR_ALWAYS},
		{.function = "o"},
	};
	FILE *stream = fopen("/dev/null", "w");
	struct report_options from_sums = {.levels = true,
					   .plot = true,
					   .top = 1000,
					   .sort = SORT_BYTES,
					   .exports.of[EXPORT_csv] = "/dev/null"};
	if (stream)
		rf_error_destroy(report_write(profile, &from_sums, stream));
	for (int format = 0; format < N_EXPORTS; format++)
		all[0].exports.of[format] =
			format == EXPORT_png ? NULL : "/dev/null"; /* that is another's program */
	for (size_t i = 0; stream && i < sizeof(all) / sizeof(*all); i++)
		rf_error_destroy(report_write(profile, &all[i], stream));
	if (stream)
		fclose(stream);
}

static void load_and_report(const char *path)
{
	struct profile *profile = NULL;
	struct rf_error *error = profile_load_parts(path, PROFILE_SUMS, &profile);
	if (!error)
		report(profile);
	profile_destroy(profile);
	rf_error_destroy(error);
	profile = NULL;
	error = profile_load(path, &profile);
	if (!error)
		report(profile);
	profile_destroy(profile);
	rf_error_destroy(error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[] = "/tmp/rfprof-fuzz-XXXXXX";
	int fd = mkstemp(path);
	if (fd < 0)
		return 0;
	if (size >= 6 && memcmp(data, "SQLite", 6) == 0) {
		if (write(fd, data, size) == (ssize_t)size)
			load_and_report(path);
	} else {
		struct input input = {data, size, 0};
		struct profile *profile = report_traced_sample();
		spread(profile, &input);
		add_lines(profile, &input);
		spread_traffic(profile, &input);
		report(profile);
		rf_error_destroy(model_summarise(profile));
		rf_error_destroy(profile_save(profile, path));
		load_and_report(path);
		profile_destroy(profile);
	}
	close(fd);
	unlink(path);
	return 0;
}
