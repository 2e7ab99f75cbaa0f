/* The instructions of functions, each with how often it ran and what it did: for pages. */
#include "report/html/html_code.h"
#include "report/model/model_samples.h"
#include "report/model/model_tally.h"
#include "report/model/model_traffic.h"

#include "base/array.h"
#include "base/search.h"
#include "insn/decoder.h"
#include "report/json/json_values.h"
#include "report/rows/code_names.h"

#include <Zydis/Zydis.h>
#include <jansson.h>
#include <stdlib.h>

/* The fields of an instruction's array, in this order. */
enum html_code_field {
	CODE_OFFSET,
	CODE_TEXT,
	CODE_EXECUTIONS,
	CODE_TIME_NS, /* of the samples that stand at it */
	CODE_FLOP,
	CODE_LS_BYTES,
	CODE_MEM_BYTES, /* to and from memory, estimated; 0 where nothing was traced */
	/* What was inlined there, "" for nothing; only where it is another than of the line before.
	 */
	CODE_INLINED,
};

struct line {
	uint64_t offset;
	int64_t n;
	uint32_t block, at;
	uint8_t length;
	uint64_t time_ns;
	struct tally tally;
	double mem_bytes;
};

/* Rows of the profile's tables, by (module, offset). */
struct key {
	uint32_t module, row;
	uint64_t offset;
};
struct keys {
	struct key *all;
	size_t n;
};

struct html_code {
	const struct profile *profile;
	const struct model *model;
	struct keys blocks, units, samples, traffic;
	int64_t *executions; /* per block */
	uint64_t longest;    /* block, bytes */
	uint64_t cost;       /* of a sample */
	ZydisFormatter formatter;
	struct line *lines; /* of the function that is looked at, by offset */
	size_t n_lines, cap_lines;
};

static int compare_keys(const void *a, const void *b)
{
	const struct key *x = a, *y = b;
	if (x->module != y->module)
		return x->module < y->module ? -1 : 1;
	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	return (x->row > y->row) - (x->row < y->row);
}

/* The first that is not before (module, offset). */
static size_t first_key(const struct keys *keys, uint32_t module, uint64_t offset)
{
	const struct key *all = keys->all;
	return rf_search(keys->n, i,
			 all[i].module < module ||
				 (all[i].module == module && all[i].offset < offset));
}

/* The key at i where it is one of the module's, before `end`; else NULL. */
static const struct key *key_before(const struct keys *keys, size_t i, uint32_t module,
				    uint64_t end)
{
	const struct key *key = &keys->all[i];
	return i < keys->n && key->module == module && key->offset < end ? key : NULL;
}

static bool keys_init(struct keys *keys, size_t n)
{
	keys->all = malloc((n + 1) * sizeof(*keys->all));
	return keys->all != NULL;
}

static void add_key(struct keys *keys, uint32_t module, uint64_t offset, size_t row)
{
	keys->all[keys->n++] = (struct key){module, (uint32_t)row, offset};
}

static void fill_keys(struct html_code *code)
{
	const struct profile *profile = code->profile;
	for (size_t i = 0; i < profile->n_blocks; i++) {
		add_key(&code->blocks, profile->blocks[i].module, profile->blocks[i].start, i);
		if (profile->blocks[i].size > code->longest)
			code->longest = profile->blocks[i].size;
	}
	for (size_t i = 0; i < profile->n_units; i++)
		add_key(&code->units, profile->units[i].module, profile->units[i].offset, i);
	for (size_t i = 0; i < profile->n_samples; i++) {
		const uint32_t frame = profile->samples[i].frame;
		if (frame != PROFILE_NONE)
			add_key(&code->samples, profile->frames[frame].module,
				profile->frames[frame].offset, i);
	}
	for (size_t i = 0; i < profile->n_traffic; i++)
		if (profile->traffic[i].class < code->model->traced_classes)
			add_key(&code->traffic, profile->traffic[i].module,
				profile->traffic[i].offset, i);
	const struct keys *const sorted[] = {&code->blocks, &code->units, &code->samples,
					     &code->traffic};
	for (size_t i = 0; i < sizeof(sorted) / sizeof(*sorted); i++)
		qsort(sorted[i]->all, sorted[i]->n, sizeof(*sorted[i]->all), compare_keys);
}

static void count_executions(struct html_code *code)
{
	for (size_t i = 0; i < code->profile->n_counts; i++) {
		const struct profile_count *count = &code->profile->counts[i];
		int64_t *sum = &code->executions[count->block];
		if (__builtin_add_overflow(*sum, count->n, sum))
			*sum = count->n < 0 ? INT64_MIN : INT64_MAX;
	}
}

struct html_code *html_code_create(const struct report_view *view)
{
	struct html_code *code = calloc(1, sizeof(*code));
	const struct profile *profile = view->profile;
	if (!code)
		return NULL;
	code->profile = profile;
	code->model = view->model;
	code->cost = model_sample_cost(profile);
	code->executions = calloc(profile->n_blocks + 1, sizeof(*code->executions));
	if (!code->executions || !keys_init(&code->blocks, profile->n_blocks) ||
	    !keys_init(&code->units, profile->n_units) ||
	    !keys_init(&code->samples, profile->n_samples) ||
	    !keys_init(&code->traffic, profile->n_traffic)) {
		html_code_destroy(code);
		return NULL;
	}
	fill_keys(code);
	count_executions(code);
	ZydisFormatterInit(&code->formatter, ZYDIS_FORMATTER_STYLE_INTEL);
	ZydisFormatterSetProperty(&code->formatter, ZYDIS_FORMATTER_PROP_HEX_UPPERCASE, ZYAN_FALSE);
	ZydisFormatterSetProperty(&code->formatter, ZYDIS_FORMATTER_PROP_ADDR_PADDING_ABSOLUTE,
				  ZYDIS_PADDING_DISABLED);
	return code;
}

void html_code_destroy(struct html_code *code)
{
	if (!code)
		return;
	free(code->blocks.all);
	free(code->units.all);
	free(code->samples.all);
	free(code->traffic.all);
	free(code->executions);
	free(code->lines);
	free(code);
}

/* ---- one function ---- */

static bool add_block(struct html_code *code, uint32_t index, const struct profile_function *f)
{
	const struct profile_block *block = &code->profile->blocks[index];
	for (uint32_t at = 0; at < block->size && block->start + at < f->end;) {
		struct work work;
		if (!work_of_bytes(block->bytes + at, block->size - at, &work) || work.length == 0)
			break;
		struct line line = {.offset = block->start + at,
				    .n = code->executions[index],
				    .block = index,
				    .at = at,
				    .length = work.length};
		if (line.offset >= f->start &&
		    !rf_array_push(code->lines, code->n_lines, code->cap_lines, line))
			return false;
		at += work.length;
	}
	return true;
}

static int compare_lines(const void *a, const void *b)
{
	const struct line *x = a, *y = b;
	return (x->offset > y->offset) - (x->offset < y->offset);
}

/* Sorts; an instruction that stands in several blocks becomes one line. */
static void merge_lines(struct html_code *code)
{
	size_t kept = 0;
	if (code->n_lines)
		qsort(code->lines, code->n_lines, sizeof(*code->lines), compare_lines);
	for (size_t i = 0; i < code->n_lines; i++) {
		struct line *last = kept ? &code->lines[kept - 1] : NULL;
		if (!last || last->offset != code->lines[i].offset)
			code->lines[kept++] = code->lines[i];
		else if (__builtin_add_overflow(last->n, code->lines[i].n, &last->n))
			last->n = INT64_MAX;
	}
	code->n_lines = kept;
}

static bool find_lines(struct html_code *code, const struct profile_function *f)
{
	const uint64_t from = f->start > code->longest ? f->start - code->longest : 0;
	const struct key *key;
	code->n_lines = 0;
	for (size_t i = first_key(&code->blocks, f->module, from);
	     (key = key_before(&code->blocks, i, f->module, f->end)); i++)
		if (code->executions[key->row] && !add_block(code, key->row, f))
			return false;
	merge_lines(code);
	return true;
}

/* The line whose bytes hold the offset. */
static struct line *line_around(struct html_code *code, uint64_t offset)
{
	const size_t n = rf_search(code->n_lines, i, code->lines[i].offset <= offset);
	struct line *line = n ? &code->lines[n - 1] : NULL;
	return line && offset - line->offset < line->length ? line : NULL;
}

static void add_work(struct html_code *code, uint32_t module, struct line *line)
{
	const struct profile_block *block = &code->profile->blocks[line->block];
	struct work work;
	struct tally once = {0};
	if (!work_of_bytes(block->bytes + line->at, block->size - line->at, &work))
		return;
	model_tally_fixed(&once, &work);
	model_tally_add(&line->tally, &once, line->n > 0 ? line->n : 0);
	if (work.units == UNITS_NONE)
		return;
	model_tally_unit(&work, &once);
	const struct key *key;
	for (size_t i = first_key(&code->units, module, line->offset);
	     (key = key_before(&code->units, i, module, line->offset + 1)); i++) {
		const uint64_t n = code->profile->units[key->row].n;
		model_tally_add(&line->tally, &once, n < INT64_MAX ? (int64_t)n : INT64_MAX);
	}
}

static void add_time(struct html_code *code, const struct profile_function *f)
{
	const struct key *key;
	for (size_t i = first_key(&code->samples, f->module, f->start);
	     (key = key_before(&code->samples, i, f->module, f->end)); i++) {
		struct line *line = line_around(code, key->offset);
		if (line &&
		    __builtin_add_overflow(line->time_ns,
					   model_sample_weight(&code->profile->samples[key->row],
							       code->cost),
					   &line->time_ns))
			line->time_ns = UINT64_MAX;
	}
}

/* The rows of one instruction stand together. */
static bool add_traffic(struct html_code *code, const struct profile_function *f)
{
	struct traffic_lines *lines = malloc(sizeof(*lines));
	if (!lines)
		return false;
	const struct key *key, *same;
	for (size_t i = first_key(&code->traffic, f->module, f->start), next;
	     (key = key_before(&code->traffic, i, f->module, f->end)); i = next) {
		struct line *line = line_around(code, key->offset);
		*lines = (struct traffic_lines){0};
		for (next = i;
		     (same = key_before(&code->traffic, next, key->module, key->offset + 1));
		     next++)
			model_add_lines(lines, &code->profile->traffic[same->row]);
		if (line)
			line->mem_bytes += model_bytes_of(lines, code->model->traced_classes)
						   .mem[DIRECTION_BOTH]
						   .bytes;
	}
	free(lines);
	return true;
}

static json_t *text_of(const struct html_code *code, const struct line *line)
{
	const struct profile_block *block = &code->profile->blocks[line->block];
	struct full_insn full;
	char text[256];
	if (!decode_full(block->bytes + line->at, block->size - line->at, &full) ||
	    ZYAN_FAILED(ZydisFormatterFormatInstruction(&code->formatter, &full.insn, full.operands,
							full.insn.operand_count_visible, text,
							sizeof(text), line->offset, NULL)))
		return json_string("(unknown)");
	return json_string(text);
}

static json_t *line_json(const struct html_code *code, const struct line *line)
{
	const struct tally *tally = &line->tally;
	_Static_assert(CODE_MEM_BYTES == 6 && CODE_INLINED == 7, "a field each");
	return json_pack("[o, o, I, o, o, o, o]", report_json_count(line->offset),
			 text_of(code, line), (json_int_t)line->n, report_json_count(line->time_ns),
			 report_json_count(tally->flop),
			 report_json_count(tally->load_bytes + tally->store_bytes),
			 report_json_count((uint64_t)line->mem_bytes));
}

/* Adds the last field, CODE_INLINED; *before: the call of the line before. */
static bool add_inlined(const struct html_code *code, uint32_t module, const struct line *line,
			json_t *fields, uint32_t *before)
{
	const uint32_t call = report_inlined_at(code->profile, module, line->offset);
	char *chain = call == *before ? NULL : report_inlined_chain(code->profile, call);
	const bool done = call == *before || chain;
	if (chain)
		json_array_append_new(fields, report_json_string(chain));
	free(chain);
	*before = call;
	return done;
}

json_t *html_code_of(struct html_code *code, const struct model_function *f, size_t most)
{
	if (f->function == PROFILE_NONE || !f->tally.instructions)
		return json_null();
	const struct profile_function *function = &code->profile->functions[f->function];
	if (!find_lines(code, function))
		return NULL;
	if (!code->n_lines || code->n_lines > most)
		return json_null();
	for (size_t i = 0; i < code->n_lines; i++)
		add_work(code, function->module, &code->lines[i]);
	add_time(code, function);
	if (code->model->traced && !add_traffic(code, function))
		return NULL;
	json_t *array = json_array();
	uint32_t before = PROFILE_NONE;
	for (size_t i = 0; i < code->n_lines; i++) {
		json_t *fields = line_json(code, &code->lines[i]);
		json_array_append_new(array, fields);
		if (!add_inlined(code, function->module, &code->lines[i], fields, &before)) {
			json_decref(array);
			return NULL;
		}
	}
	return array;
}
