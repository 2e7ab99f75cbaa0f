/* pprof's profile.proto, gzip-compressed.  Times stand at call stacks; what was counted and traced
 * stands at its instruction, without callers, since no call path was counted with it. */
#include "report/export/export.h"

#include "base/array.h"
#include "base/search.h"
#include "base/text.h"
#include "report/export/protobuf.h"
#include "report/rows/code.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zlib.h>

/* Field numbers of profile.proto. */
enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE,
	PROFILE_MAPPING,
	PROFILE_LOCATION,
	PROFILE_FUNCTION,
	PROFILE_STRING_TABLE,
	PROFILE_TIME_NANOS = 9,
	PROFILE_DURATION_NANOS,
	PROFILE_PERIOD_TYPE,
	PROFILE_PERIOD,
	PROFILE_COMMENT,
	PROFILE_DEFAULT_SAMPLE_TYPE
};
enum { SAMPLE_LOCATION_ID = 1, SAMPLE_VALUE, SAMPLE_LABEL };
enum { LOCATION_LINE = 4 };

/* The values of each sample. */
enum { SAMPLES, CPU, FLOP, INSTRUCTIONS, LS_BYTES, MEMORY_BYTES, N_VALUES };
static const char *const value_types[N_VALUES][2] = {
	[SAMPLES] = {"samples", "count"},
	[CPU] = {"cpu", "nanoseconds"},
	[FLOP] = {"flop", "count"},
	[INSTRUCTIONS] = {"instructions", "count"},
	[LS_BYTES] = {"loaded_stored", "bytes"},
	[MEMORY_BYTES] = {"memory", "bytes"},
};

#define PAGE 4096

/* A module's code in the addresses of the file, which has room for all of them beside each other.
 */
struct module {
	bool used;
	uint64_t low, high, bias;
};

struct address {
	uint32_t module;
	uint64_t offset;
	uint32_t row;
};

struct pprof {
	const struct code *code;
	size_t n_values;
	struct protobuf out, part, inner;
	struct protobuf strings;
	uint64_t n_strings;
	struct module *modules;    /* one more for code in none */
	struct address *addresses; /* the locations; id: index + 1 */
	size_t n_addresses;
	uint64_t *location_of_frame; /* ids */
	uint64_t nowhere;            /* id, for samples without a frame */
	uint64_t *stack;             /* ids, leaf first */
	size_t n_stack, cap_stack;
	bool *function_used;
};

/* ---- parts ---- */

static uint64_t string(struct pprof *pprof, const char *text)
{
	char *clean = text_clean(text);
	protobuf_string(&pprof->strings, PROFILE_STRING_TABLE, clean ? clean : "");
	pprof->strings.failed |= !clean;
	free(clean);
	return pprof->n_strings++;
}

/* Begins a message with its fields 1, 2, … as profile.proto numbers them, all of them numbers. */
#define BEGIN(message, ...)                             \
	begin(message, (const uint64_t[]){__VA_ARGS__}, \
	      sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

static void begin(struct protobuf *message, const uint64_t *fields, size_t n)
{
	protobuf_clear(message);
	for (unsigned i = 0; i < n; i++)
		protobuf_number(message, i + 1, fields[i]);
}

static void put_type(struct pprof *pprof, unsigned field, size_t value)
{
	const uint64_t type = string(pprof, value_types[value][0]),
		       unit = string(pprof, value_types[value][1]);
	BEGIN(&pprof->part, type, unit);
	protobuf_message(&pprof->out, field, &pprof->part);
}

static int compare_addresses(const void *a, const void *b)
{
	const struct address *x = a, *y = b;
	return rf_compare(x->module, y->module) ?: rf_compare(x->offset, y->offset);
}

/* ---- locations ---- */

static void take_address(struct pprof *pprof, uint32_t module, uint64_t offset, uint32_t row)
{
	const size_t index = module == PROFILE_NONE ? pprof->code->profile->n_modules : module;
	struct module *of = &pprof->modules[index];
	of->low = !of->used || offset < of->low ? offset : of->low;
	of->high = !of->used || offset > of->high ? offset : of->high;
	of->used = true;
	pprof->function_used[row] = true;
	pprof->addresses[pprof->n_addresses++] = (struct address){module, offset, row};
}

static struct rf_error *collect_addresses(struct pprof *pprof)
{
	const struct code *code = pprof->code;
	const size_t most = code->profile->n_frames + code->n_instructions;
	size_t kept = 0;
	pprof->addresses = malloc((most + 1) * sizeof(*pprof->addresses));
	pprof->function_used = calloc(code->n_functions + 1, 1);
	pprof->modules = calloc(code->profile->n_modules + 1, sizeof(*pprof->modules));
	if (!pprof->addresses || !pprof->function_used || !pprof->modules)
		return rf_error_no_memory();
	for (size_t i = 0; i < code->profile->n_frames; i++)
		take_address(pprof, code->profile->frames[i].module,
			     code->profile->frames[i].offset, code->row_of_frame[i]);
	for (size_t i = 0; i < code->n_instructions; i++)
		take_address(pprof, code->instructions[i].module, code->instructions[i].offset,
			     code->instructions[i].row);
	if (pprof->n_addresses)
		qsort(pprof->addresses, pprof->n_addresses, sizeof(*pprof->addresses),
		      compare_addresses);
	for (size_t i = 0; i < pprof->n_addresses; i++)
		if (!kept || compare_addresses(&pprof->addresses[kept - 1], &pprof->addresses[i]))
			pprof->addresses[kept++] = pprof->addresses[i];
	pprof->n_addresses = kept;
	return NULL;
}

static uint64_t location(const struct pprof *pprof, uint32_t module, uint64_t offset)
{
	const struct address key = {module, offset, 0};
	const size_t n =
		rf_search(pprof->n_addresses, i, compare_addresses(&pprof->addresses[i], &key) < 0);
	return n < pprof->n_addresses && !compare_addresses(&pprof->addresses[n], &key) ? n + 1 : 0;
}

/* The format wants addresses, not offsets in files: each module starts a page behind the one
 * before. */
static void place_modules(struct pprof *pprof)
{
	uint64_t next = 0x10000000;
	for (size_t m = 0; m <= pprof->code->profile->n_modules; m++) {
		struct module *module = &pprof->modules[m];
		if (!module->used)
			continue;
		module->low -= module->low % PAGE;
		module->bias = next - module->low;
		next += module->high - module->low + 1;
		next += (PAGE - next % PAGE) % PAGE + PAGE;
	}
}

static void put_mappings(struct pprof *pprof)
{
	const struct profile *profile = pprof->code->profile;
	for (size_t m = 0; m < profile->n_modules; m++) {
		const struct module *module = &pprof->modules[m];
		if (!module->used)
			continue;
		const uint64_t path = string(pprof, profile->modules[m].path),
			       build_id = string(pprof, profile->modules[m].build_id),
			       offset = profile->modules[m].path[0] == '/' ? module->low : 0;
		/* it has functions, files and lines */
		BEGIN(&pprof->part, m + 1, module->low + module->bias,
		      module->high + module->bias + 1, offset, path, build_id, 1, 1, 1);
		protobuf_message(&pprof->out, PROFILE_MAPPING, &pprof->part);
	}
}

static void put_locations(struct pprof *pprof)
{
	const struct profile *profile = pprof->code->profile;
	for (size_t i = 0; i < pprof->n_addresses; i++) {
		const struct address *address = &pprof->addresses[i];
		const bool inside = address->module != PROFILE_NONE;
		const size_t module = inside ? address->module : profile->n_modules;
		BEGIN(&pprof->inner, address->row + 1, pprof->code->functions[address->row].line);
		BEGIN(&pprof->part, i + 1, inside ? module + 1 : 0,
		      address->offset + pprof->modules[module].bias);
		protobuf_message(&pprof->part, LOCATION_LINE, &pprof->inner);
		protobuf_message(&pprof->out, PROFILE_LOCATION, &pprof->part);
	}
}

static void put_functions(struct pprof *pprof)
{
	for (size_t row = 0; row < pprof->code->n_functions; row++) {
		const struct code_function *function = &pprof->code->functions[row];
		if (!pprof->function_used[row])
			continue;
		const uint64_t name = string(pprof, function->name),
			       file = function->file[0] ? string(pprof, function->file) : 0;
		BEGIN(&pprof->part, row + 1, name, name, file, function->line);
		protobuf_message(&pprof->out, PROFILE_FUNCTION, &pprof->part);
	}
}

/* ---- samples ---- */

struct labels {
	uint64_t thread, pid, tid;
}; /* strings */

static void put_label(struct pprof *pprof, uint64_t key, uint64_t text, uint64_t number)
{
	BEGIN(&pprof->inner, key, text, number);
	protobuf_message(&pprof->part, SAMPLE_LABEL, &pprof->inner);
}

static void fill_stack(struct pprof *pprof, uint32_t frame)
{
	const struct profile_frame *frames = pprof->code->profile->frames;
	const bool nowhere = frame == PROFILE_NONE;
	pprof->n_stack = 0;
	if (nowhere &&
	    !rf_array_push(pprof->stack, pprof->n_stack, pprof->cap_stack, pprof->nowhere))
		pprof->out.failed = true;
	for (; frame != PROFILE_NONE; frame = frames[frame].parent)
		if (!rf_array_push(pprof->stack, pprof->n_stack, pprof->cap_stack,
				   pprof->location_of_frame[frame]))
			pprof->out.failed = true;
}

static int compare_samples(const void *a, const void *b)
{
	const struct profile_sample *x = a, *y = b;
	return rf_compare(x->thread, y->thread) ?: rf_compare(x->frame, y->frame);
}

static struct rf_error *put_times(struct pprof *pprof, uint64_t *thread_names)
{
	const struct profile *profile = pprof->code->profile;
	const struct labels keys = {string(pprof, "thread"), string(pprof, "pid"),
				    string(pprof, "tid")};
	struct profile_sample *samples = malloc((profile->n_samples + 1) * sizeof(*samples));
	if (!samples)
		return rf_error_no_memory();
	if (profile->n_samples)
		memcpy(samples, profile->samples, profile->n_samples * sizeof(*samples));
	for (size_t i = 0; i < profile->n_samples; i++)
		samples[i].weight_ns = code_sample_ns(pprof->code, i);
	qsort(samples, profile->n_samples, sizeof(*samples), compare_samples);
	for (size_t i = 0, n; i < profile->n_samples; i += n) {
		const struct profile_thread *thread = &profile->threads[samples[i].thread];
		uint64_t values[N_VALUES] = {0};
		for (n = 0;
		     i + n < profile->n_samples && !compare_samples(&samples[i], &samples[i + n]);
		     n++)
			values[CPU] += samples[i + n].weight_ns;
		values[SAMPLES] = n;
		fill_stack(pprof, samples[i].frame);
		protobuf_clear(&pprof->part);
		protobuf_numbers(&pprof->part, SAMPLE_LOCATION_ID, pprof->stack, pprof->n_stack);
		protobuf_numbers(&pprof->part, SAMPLE_VALUE, values, pprof->n_values);
		put_label(pprof, keys.thread, thread_names[samples[i].thread], 0);
		put_label(pprof, keys.pid, 0, (uint64_t)thread->pid);
		put_label(pprof, keys.tid, 0, (uint64_t)thread->tid);
		protobuf_message(&pprof->out, PROFILE_SAMPLE, &pprof->part);
	}
	free(samples);
	return NULL;
}

static void put_counts(struct pprof *pprof)
{
	const struct code *code = pprof->code;
	struct code_rounding rounding = {0};
	for (size_t i = 0; i < code->n_instructions; i++) {
		const struct code_instruction *at = &code->instructions[i];
		const uint64_t values[N_VALUES] = {
			[FLOP] = (uint64_t)at->flop,
			[INSTRUCTIONS] = (uint64_t)at->executions,
			[LS_BYTES] = (uint64_t)at->load_bytes + (uint64_t)at->store_bytes,
			[MEMORY_BYTES] = code_memory_bytes(code, &rounding, at),
		};
		const uint64_t id = location(pprof, at->module, at->offset);
		if (!(values[FLOP] | values[INSTRUCTIONS] | values[LS_BYTES] |
		      values[MEMORY_BYTES]))
			continue;
		protobuf_clear(&pprof->part);
		protobuf_numbers(&pprof->part, SAMPLE_LOCATION_ID, &id, 1);
		protobuf_numbers(&pprof->part, SAMPLE_VALUE, values, pprof->n_values);
		protobuf_message(&pprof->out, PROFILE_SAMPLE, &pprof->part);
	}
}

static struct rf_error *put_samples(struct pprof *pprof)
{
	const struct profile *profile = pprof->code->profile;
	uint64_t *names = calloc(profile->n_threads + 1, sizeof(*names));
	struct rf_error *error = names ? NULL : rf_error_no_memory();
	for (size_t i = 0; !error && i < profile->n_threads; i++) {
		char *name = code_thread_name(pprof->code, (uint32_t)i);
		names[i] = string(pprof, name ? name : "");
		free(name);
	}
	if (!error)
		error = put_times(pprof, names);
	free(names);
	if (!error)
		put_counts(pprof);
	return error;
}

/* ---- the whole ---- */

static uint64_t date_ns(const struct profile *profile)
{
	const char *date = profile_get_fact(profile, "date");
	struct tm tm = {0};
	const char *end = date ? strptime(date, "%Y-%m-%dT%H:%M:%SZ", &tm) : NULL;
	const time_t seconds = end && !*end ? timegm(&tm) : 0;
	return seconds > 0 && seconds < INT64_MAX / 1000000000 ? (uint64_t)seconds * 1000000000 : 0;
}

static uint64_t number_fact(const struct profile *profile, const char *key, double scale)
{
	const double value = profile_number_fact(profile, key, 0) * scale;
	return value > 0 && value < 9e18 ? (uint64_t)value : 0;
}

static void put_head(struct pprof *pprof)
{
	const struct profile *profile = pprof->code->profile;
	const char *command = profile_get_fact(profile, "command");
	string(pprof, ""); /* the table's first */
	for (size_t i = 0; i < pprof->n_values; i++)
		put_type(pprof, PROFILE_SAMPLE_TYPE, i);
	protobuf_number(&pprof->out, PROFILE_TIME_NANOS, date_ns(profile));
	protobuf_number(&pprof->out, PROFILE_DURATION_NANOS, number_fact(profile, "wall_s", 1e9));
	put_type(pprof, PROFILE_PERIOD_TYPE, CPU);
	protobuf_number(&pprof->out, PROFILE_PERIOD, number_fact(profile, "sample_period_ns", 1));
	protobuf_number(&pprof->out, PROFILE_DEFAULT_SAMPLE_TYPE,
			string(pprof, value_types[CPU][0]));
	if (!command)
		return;
	const uint64_t comment = string(pprof, command);
	protobuf_numbers(&pprof->out, PROFILE_COMMENT, &comment, 1);
}

static struct rf_error *put_profile(struct pprof *pprof)
{
	const struct profile *profile = pprof->code->profile;
	pprof->location_of_frame =
		malloc((profile->n_frames + 1) * sizeof(*pprof->location_of_frame));
	struct rf_error *error =
		pprof->location_of_frame ? collect_addresses(pprof) : rf_error_no_memory();
	if (error)
		return error;
	for (size_t i = 0; i < profile->n_frames; i++)
		pprof->location_of_frame[i] =
			location(pprof, profile->frames[i].module, profile->frames[i].offset);
	pprof->nowhere = location(pprof, PROFILE_NONE, 0);
	place_modules(pprof);
	put_head(pprof);
	error = put_samples(pprof);
	if (error)
		return error;
	put_mappings(pprof);
	put_locations(pprof);
	put_functions(pprof);
	return pprof->out.failed || pprof->strings.failed ? rf_error_no_memory() : NULL;
}

/* As gzip does, without a date, so that equal profiles are equal files.  Neither part is empty:
 * there is always a string. */
static struct rf_error *put_compressed(const struct protobuf *const parts[2], FILE *stream)
{
	enum { GZIP = 16, WINDOW = 15, MEMORY = 8, CHUNK = 1 << 16 };
	static unsigned char chunk[CHUNK];
	z_stream z = {0};
	if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, WINDOW + GZIP, MEMORY,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		return rf_error_no_memory();
	for (int part = 0; part < 2; part++)
		for (size_t at = 0, n; at < parts[part]->n; at += n) {
			n = parts[part]->n - at < CHUNK ? parts[part]->n - at : CHUNK;
			const bool last = part == 1 && at + n == parts[part]->n;
			z.next_in = parts[part]->bytes + at;
			z.avail_in = (uInt)n;
			do {
				z.next_out = chunk;
				z.avail_out = CHUNK;
				deflate(&z, last ? Z_FINISH : Z_NO_FLUSH);
				fwrite(chunk, 1, CHUNK - z.avail_out, stream);
			} while (z.avail_out == 0);
		}
	deflateEnd(&z);
	return NULL;
}

struct rf_error *export_pprof(const struct report_view *view, FILE *stream)
{
	struct code code;
	struct pprof pprof = {.code = &code,
			      .n_values = view->model->traced ? N_VALUES : N_VALUES - 1};
	struct rf_error *error = code_init(&code, view, NULL);
	const struct protobuf *const parts[2] = {&pprof.out, &pprof.strings};
	if (!error)
		error = put_profile(&pprof);
	if (!error)
		error = put_compressed(parts, stream);
	protobuf_deinit(&pprof.out);
	protobuf_deinit(&pprof.part);
	protobuf_deinit(&pprof.inner);
	protobuf_deinit(&pprof.strings);
	free(pprof.modules);
	free(pprof.addresses);
	free(pprof.location_of_frame);
	free(pprof.stack);
	free(pprof.function_used);
	code_deinit(&code);
	return error;
}
