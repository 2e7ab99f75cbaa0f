/* Writes the way as assembly, and takes the cycles from llvm-mca's JSON. */
#include "report/ecm/second_opinion.h"

#include "insn/decoder.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_WAY 1000 /* instructions of a turn */
#define ITERATIONS "200"

/* What llvm-mca calls them, the best first, and how the resources of the core's own table begin
 * (llvm/lib/Target/X86/X86Schedule*.td). */
static const struct processor {
	const char *microarchitecture, *own;
	const char *names[3];
} processors[] = {
	{"Sandy Bridge", "SB", {"sandybridge"}},
	{"Ivy Bridge", "SB", {"ivybridge"}},
	{"Haswell", "HW", {"haswell"}},
	{"Broadwell", "BW", {"broadwell"}},
	{"Skylake", "SKL", {"skylake"}},
	{"Skylake-SP", "SKX", {"skylake-avx512"}},
	{"Ice Lake", "ICX", {"icelake-client"}},
	{"Tiger Lake", "ICX", {"tigerlake"}},
	{"Rocket Lake", "ICX", {"rocketlake", "icelake-client"}},
	{"Ice Lake-SP", "ICX", {"icelake-server"}},
	{"Golden Cove", "ADLP", {"alderlake"}},
	{"Sapphire Rapids", "SPR", {"sapphirerapids"}},
	{"Emerald Rapids", "SPR", {"emeraldrapids", "sapphirerapids"}},
	{"Granite Rapids", "GNR", {"graniterapids", "sapphirerapids"}},
	{"Zen", "Zn", {"znver1"}},
	{"Zen+", "Zn", {"znver1"}},
	{"Zen 2", "Zn2", {"znver2"}},
	{"Zen 3", "Zn3", {"znver3"}},
	{"Zen 4", "Zn4", {"znver4"}},
	{"Zen 5", "Zn5", {"znver5", "znver4", "znver3"}},
	{"Zen 5 (256-bit datapath)", "Zn5", {"znver5", "znver4", "znver3"}},
};
enum { N_PROCESSORS = sizeof(processors) / sizeof(*processors) };

/* ---- the program ---- */

/* The first that is new enough: its name without a version, then the packages', the newest first.
 */
static bool find_program(char program[32])
{
	static const char script[] =
		"for p in llvm-mca $(seq -f llvm-mca-%g 40 -1 16); do command -v $p >/dev/null && "
		"echo $p $($p --version | sed -n 's/.*LLVM version \\([0-9]*\\).*/\\1/p'); done";
	char line[128];
	bool found = false;
	FILE *answer = popen(script, "re");
	while (answer && fgets(line, sizeof(line), answer)) {
		unsigned version;
		char name[32];
		if (!found && sscanf(line, "%31s %u", name, &version) == 2 &&
		    version >= SECOND_OPINION_OLDEST) {
			strcpy(program, name);
			found = true;
		}
	}
	if (answer)
		pclose(answer);
	return found;
}

/* What it says of the assembly; NULL: nothing that can be read. */
static json_t *ask(const char *program, const char *cpu, FILE *assembly)
{
	char command[160];
	snprintf(command, sizeof(command),
		 "%s -mtriple=x86_64-linux-gnu -mcpu=%s -iterations=" ITERATIONS
		 " -json </dev/fd/%d 2>/dev/null",
		 program, cpu, fileno(assembly));
	rewind(assembly);
	FILE *answer = popen(command, "re");
	/* some names of its resources hold NUL bytes */
	json_t *json = answer ? json_loadf(answer, JSON_ALLOW_NUL, NULL) : NULL;
	if (answer && pclose(answer) != 0) {
		json_decref(json);
		json = NULL;
	}
	return json;
}

/* ---- the processor ---- */

/* Whether the table of that processor has resources of the core's own: "Zn4AGU0" of Zen 4. */
static bool is_own(json_t *json, const char *own)
{
	const json_t *target = json_object_get(json, "TargetInfo");
	const char *name =
		json_string_value(json_array_get(json_object_get(target, "Resources"), 0));
	const size_t length = strlen(own);
	return name && strncmp(name, own, length) == 0 &&
	       !(name[length] >= '0' && name[length] <= '9');
}

static bool is_named(json_t *json, const char *cpu)
{
	const char *name =
		json_string_value(json_object_get(json_object_get(json, "TargetInfo"), "CPUName"));
	return name && strcmp(name, cpu) == 0;
}

/* A name that it does not know is as good as none. */
static bool try_names(const struct processor *processor, struct second_opinion *opinion)
{
	FILE *nothing = tmpfile();
	bool found = false;
	if (nothing)
		fputs("nop\n", nothing);
	for (size_t i = 0; nothing && i < 3 && processor->names[i] && !found; i++) {
		json_t *json = ask(opinion->program, processor->names[i], nothing);
		found = is_named(json, processor->names[i]);
		if (found) {
			strcpy(opinion->cpu, processor->names[i]);
			opinion->is_other = !is_own(json, processor->own);
		}
		json_decref(json);
	}
	if (nothing)
		fclose(nothing);
	return found;
}

bool second_opinion_find(const char *microarchitecture, struct second_opinion *opinion)
{
	const struct processor *processor = NULL;
	*opinion = (struct second_opinion){0};
	for (int i = 0; microarchitecture && i < N_PROCESSORS; i++)
		if (strcmp(processors[i].microarchitecture, microarchitecture) == 0)
			processor = &processors[i];
	return processor && find_program(opinion->program) && try_names(processor, opinion);
}

/* ---- a loop ---- */

/* In Intel's syntax, which both understand alike.  Where branches lead to does not matter: each
 * turn follows the one before. */
static bool write_instruction(const ZydisFormatter *formatter, const uint8_t *bytes, size_t size,
			      FILE *out)
{
	struct full_insn full;
	char text[256];
	if (!decode_full(bytes, size, &full))
		return false;
	if (full.insn.meta.branch_type != ZYDIS_BRANCH_TYPE_NONE &&
	    full.operands[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
		snprintf(text, sizeof(text), "%s way", ZydisMnemonicGetString(full.insn.mnemonic));
	else if (ZYAN_FAILED(ZydisFormatterFormatInstruction(formatter, &full.insn, full.operands,
							     full.insn.operand_count_visible, text,
							     sizeof(text), 0, NULL)))
		return false;
	fprintf(out, "%s\n", text);
	return true;
}

static bool write_way(const struct profile *profile, const struct flow_graph *graph,
		      const uint32_t *way, size_t n, FILE *out)
{
	ZydisFormatter formatter;
	bool known = n > 0;
	ZydisFormatterInit(&formatter, ZYDIS_FORMATTER_STYLE_INTEL);
	ZydisFormatterSetProperty(&formatter, ZYDIS_FORMATTER_PROP_FORCE_RELATIVE_RIPREL,
				  ZYAN_TRUE);
	ZydisFormatterSetProperty(&formatter, ZYDIS_FORMATTER_PROP_FORCE_SIZE, ZYAN_TRUE);
	fputs(".intel_syntax noprefix\n", out);
	for (size_t i = 0; i < n && known; i++) {
		const struct flow_node *node = &graph->nodes[way[i]];
		const struct profile_block *block = &profile->blocks[node->block];
		known = write_instruction(&formatter, block->bytes + node->at,
					  block->size - node->at, out);
	}
	return known && fflush(out) == 0;
}

static double cycles_of(json_t *json)
{
	const json_t *summary =
		json_object_get(json_array_get(json_object_get(json, "CodeRegions"), 0),
				"SummaryView");
	const double iterations = json_number_value(json_object_get(summary, "Iterations"));
	return iterations > 0
		       ? json_number_value(json_object_get(summary, "TotalCycles")) / iterations
		       : NAN;
}

struct rf_error *second_opinion_cycles(const struct second_opinion *opinion,
				       const struct profile *profile,
				       const struct flow_graph *graph,
				       const struct model_function *function, uint32_t loop,
				       double *cycles)
{
	uint32_t *way = malloc(MOST_WAY * sizeof(*way));
	FILE *assembly = tmpfile();
	*cycles = NAN;
	if (way && assembly) {
		const size_t n =
			flow_graph_way(graph, loop, function->loops[loop].header, way, MOST_WAY);
		json_t *json = write_way(profile, graph, way, n, assembly)
				       ? ask(opinion->program, opinion->cpu, assembly)
				       : NULL;
		*cycles = cycles_of(json);
		json_decref(json);
	}
	struct rf_error *error = way ? NULL : rf_error_no_memory();
	if (assembly)
		fclose(assembly);
	free(way);
	return error;
}
