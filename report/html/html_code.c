/* The instructions of functions, each with how often it ran and what it did: for pages. */
#include "report/html/html_code.h"

#include "base/search.h"
#include "insn/decoder.h"
#include "report/json/json_values.h"
#include "report/rows/code_names.h"

#include <Zydis/Zydis.h>
#include <jansson.h>
#include <stdlib.h>

/* An instruction with what was seen at any of its bytes. */
struct line {
	const struct code_instruction *at;
	uint64_t time_ns;
	double mem_bytes;
};

static json_t *text_of(const ZydisFormatter *formatter, const struct code_instruction *at)
{
	struct full_insn full;
	char text[256];
	if (!decode_full(at->bytes, at->length, &full) ||
	    ZYAN_FAILED(ZydisFormatterFormatInstruction(formatter, &full.insn, full.operands,
							full.insn.operand_count_visible, text,
							sizeof(text), at->offset, NULL)))
		return json_string("(unknown)");
	return json_string(text);
}

/* Offset, text, executions, ns of samples, flop, bytes loaded and stored, and those to and from
 * memory, estimated; 0 where nothing was traced.  The page's scripts know the order. */
static json_t *line_json(const ZydisFormatter *formatter, const struct line *line)
{
	const struct code_instruction *at = line->at;
	return json_pack("[o, o, I, o, o, o, o]", report_json_count(at->offset),
			 text_of(formatter, at), (json_int_t)at->executions,
			 report_json_count(line->time_ns), report_json_count((uint64_t)at->flop),
			 report_json_count((uint64_t)at->load_bytes + (uint64_t)at->store_bytes),
			 report_json_count((uint64_t)line->mem_bytes));
}

/* Adds the last field: what was inlined there, "" for nothing; only where it is another than of the
 * line before, whose call is *before. */
static bool add_inlined(const struct profile *profile, const struct line *line, json_t *fields,
			uint32_t *before)
{
	const uint32_t call = report_inlined_at(profile, line->at->module, line->at->offset);
	char *chain = call == *before ? NULL : report_inlined_chain(profile, call);
	const bool done = call == *before || chain;
	if (chain)
		json_array_append_new(fields, report_json_string(chain));
	free(chain);
	*before = call;
	return done;
}

/* The line of the instruction at i; *next: behind what lies before the next instruction. */
static struct line line_at(const struct code *code, size_t i, size_t end, size_t *next)
{
	const struct code_instruction *all = code->instructions;
	const unsigned classes = code->view->model->traced_classes;
	struct line line = {.at = &all[i]};
	for (*next = i; *next < end && (*next == i || !all[*next].length); ++*next) {
		if (all[*next].offset - all[i].offset >= all[i].length)
			continue;
		line.time_ns += all[*next].time_ns;
		if (classes)
			line.mem_bytes += (double)all[*next].memory_lines / classes * CACHE_LINE *
					  CACHE_CLASSES;
	}
	return line;
}

static json_t *lines_json(const struct code *code, size_t from, size_t end)
{
	ZydisFormatter formatter;
	json_t *array = json_array();
	uint32_t before = PROFILE_NONE;
	ZydisFormatterInit(&formatter, ZYDIS_FORMATTER_STYLE_INTEL);
	ZydisFormatterSetProperty(&formatter, ZYDIS_FORMATTER_PROP_HEX_UPPERCASE, ZYAN_FALSE);
	ZydisFormatterSetProperty(&formatter, ZYDIS_FORMATTER_PROP_ADDR_PADDING_ABSOLUTE,
				  ZYDIS_PADDING_DISABLED);
	for (size_t i = from, next; i < end; i = next) {
		const struct line line = line_at(code, i, end, &next);
		if (!line.at->length)
			continue;
		json_t *fields = line_json(&formatter, &line);
		json_array_append_new(array, fields);
		if (!add_inlined(code->profile, &line, fields, &before)) {
			json_decref(array);
			return NULL;
		}
	}
	return array;
}

json_t *html_code_of(const struct code *code, const struct model_function *f, size_t most)
{
	const struct code_instruction *all = code->instructions;
	const size_t from = rf_search(code->n_instructions, i, all[i].row < f->function);
	size_t end = from, n = 0;
	if (f->function == PROFILE_NONE || !f->tally.instructions)
		return json_null();
	for (; end < code->n_instructions && all[end].row == f->function; end++)
		n += all[end].length > 0;
	return n && n <= most ? lines_json(code, from, end) : json_null();
}
