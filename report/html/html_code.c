/* The instructions of functions, each with how often it ran and what it did: for pages. */
#include "report/html/html_code.h"

#include "base/search.h"
#include "insn/decoder.h"
#include "report/html/html_sources.h"
#include "report/rows/code_names.h"

#include <Zydis/Zydis.h>
#include <stdlib.h>

/* An instruction with what was seen at any of its bytes. */
struct line {
	const struct code_instruction *at;
	uint64_t time_ns;
	double mem_bytes;
};

static void put_instruction(struct json_writer *out, const ZydisFormatter *formatter,
			    const struct code_instruction *at)
{
	struct full_insn full;
	char text[256];
	const bool known =
		decode_full(at->bytes, at->length, &full) &&
		!ZYAN_FAILED(ZydisFormatterFormatInstruction(formatter, &full.insn, full.operands,
							     full.insn.operand_count_visible, text,
							     sizeof(text), at->offset, NULL));
	put_text(out, NULL, known ? text : "(unknown)");
}

/* What was inlined there, "" for nothing; only where it is another than of the line before, whose
 * call is *before. */
static struct rf_error *put_inlined(struct json_writer *out, const struct profile *profile,
				    const struct line *line, uint32_t *before)
{
	const uint32_t call = report_inlined_at(profile, line->at->module, line->at->offset);
	if (call == *before)
		return NULL;
	char *chain = report_inlined_chain(profile, call);
	*before = call;
	if (!chain)
		return rf_error_no_memory();
	put_text(out, NULL, chain);
	free(chain);
	return NULL;
}

/* File and line of its source; null where that is not among the sources of the page. */
static void put_source(struct json_writer *out, const struct profile *profile,
		       const struct code_instruction *at, uint32_t *hint)
{
	const struct profile_line *line = report_line_row(profile, at->module, at->offset);
	const uint32_t source = line ? html_source_of(profile, line->file, hint) : PROFILE_NONE;
	put_known(out, NULL, source != PROFILE_NONE, source);
	put_known(out, NULL, source != PROFILE_NONE, line ? line->line : 0);
}

/* What is known of the line before. */
struct before {
	uint32_t call, source;
};

/* Offset, text, executions, ns of samples, flop, bytes loaded and stored, those to and from memory,
 * estimated (0 where nothing was traced), the source, and what was inlined.  The page's scripts
 * know the order. */
static struct rf_error *put_line(struct json_writer *out, const struct profile *profile,
				 const ZydisFormatter *formatter, const struct line *line,
				 struct before *before)
{
	const struct code_instruction *at = line->at;
	put_array(out, NULL);
	put_count(out, NULL, at->offset);
	put_instruction(out, formatter, at);
	put_integer(out, NULL, at->executions);
	put_count(out, NULL, line->time_ns);
	put_count(out, NULL, (uint64_t)at->flop);
	put_count(out, NULL, (uint64_t)at->load_bytes + (uint64_t)at->store_bytes);
	put_count(out, NULL, (uint64_t)line->mem_bytes);
	put_source(out, profile, at, &before->source);
	struct rf_error *error = put_inlined(out, profile, line, &before->call);
	put_end(out);
	return error;
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

static struct rf_error *put_lines(struct json_writer *out, const char *key, const struct code *code,
				  size_t from, size_t end)
{
	ZydisFormatter formatter;
	struct before before = {PROFILE_NONE, 0};
	struct rf_error *error = NULL;
	ZydisFormatterInit(&formatter, ZYDIS_FORMATTER_STYLE_INTEL);
	ZydisFormatterSetProperty(&formatter, ZYDIS_FORMATTER_PROP_HEX_UPPERCASE, ZYAN_FALSE);
	ZydisFormatterSetProperty(&formatter, ZYDIS_FORMATTER_PROP_ADDR_PADDING_ABSOLUTE,
				  ZYDIS_PADDING_DISABLED);
	put_array(out, key);
	for (size_t i = from, next; !error && i < end; i = next) {
		const struct line line = line_at(code, i, end, &next);
		if (line.at->length)
			error = put_line(out, code->profile, &formatter, &line, &before);
	}
	put_end(out);
	return error;
}

/* Where its instructions begin. */
static size_t first_of(const struct code *code, const struct model_function *f)
{
	const struct code_instruction *all = code->instructions;
	return rf_search(code->n_instructions, i, all[i].row < f->function);
}

size_t html_code_lines(const struct code *code, const struct model_function *f)
{
	const struct code_instruction *all = code->instructions;
	size_t n = 0;
	if (f->function == PROFILE_NONE || !f->tally.instructions)
		return 0;
	for (size_t i = first_of(code, f); i < code->n_instructions && all[i].row == f->function;
	     i++)
		n += all[i].length > 0;
	return n;
}

struct rf_error *html_code_put(struct json_writer *out, const char *key, const struct code *code,
			       const struct model_function *f)
{
	const size_t from = first_of(code, f);
	size_t end = from;
	while (end < code->n_instructions && code->instructions[end].row == f->function)
		end++;
	return put_lines(out, key, code, from, end);
}
