/* Modules are copies of one piece of code, so that what a process makes of one does not depend on
 * where the module is but by its address. */
#include "tests/unit/tracer/translate/translated_process.h"

#include "tests/unit/tracer/translate/lockstep.h"
#include "tracer/translate/inherit.h"
#include "tracer/translate/trace_config.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARENA_SIZE (8u << 20)
#define APART (1ull << 36) /* from one module to the next one */

static struct range code;

static uint64_t mix(uint64_t n)
{
	n = (n ^ n >> 31) * 0x9e3779b97f4a7c15u;
	return (n ^ n >> 29) * 0xbf58476d1ce4e5b9u >> 7;
}

static void find_code(void)
{
	char line[512], permissions[8];
	FILE *maps = fopen("/proc/self/maps", "re");
	cr_assert(maps);
	while (fgets(line, sizeof(line), maps))
		if (strstr(line, "libc.so") && !code.start)
			if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s", &code.start, &code.end,
				   permissions) != 3 ||
			    permissions[2] != 'x')
				code.start = 0;
	fclose(maps);
	cr_assert(code.start);
}

static uint64_t state;

void random_begin(uint64_t seed)
{
	state = seed;
	find_code();
}

uint64_t random_next(void)
{
	return mix(++state);
}

unsigned module_of(const struct process *process, uint64_t pc, uint64_t *offset)
{
	unsigned m = 0;
	while (m < MODULES && pc - process->modules[m] >= code.end - code.start)
		m++;
	*offset = m < MODULES ? pc - process->modules[m] : pc;
	return m;
}

static size_t read_code(void *context, uint64_t pc, uint8_t *buffer, size_t size, const char **why)
{
	uint64_t offset;
	*why = "none";
	if (module_of(context, pc, &offset) == MODULES)
		return 0;
	const uint64_t left = code.end - code.start - offset;
	const size_t n = left < size ? left : size;
	memcpy(buffer, (const void *)(code.start + offset), n);
	return n;
}

static void locate(void *context, uint64_t pc, uint32_t *module, uint64_t *offset)
{
	*module = FIRST_MODULE + module_of(context, pc, offset);
}

/* Slots lead to a function of either module. */
static bool value(void *context, uint64_t address, uint64_t *out)
{
	const struct process *process = context;
	unsigned m = 0; /* data lies behind the code */
	while (m + 1 < MODULES && address - process->modules[m] >= APART / 4)
		m++;
	const uint64_t place = mix(address - process->modules[m] + m);
	*out = process->modules[place % MODULES] + (place >> 8) % (code.end - code.start);
	return true;
}

/* Some of the code is that of allocators. */
static int allocator(void *context, uint64_t pc)
{
	uint64_t offset;
	(void)module_of(context, pc, &offset);
	const uint64_t place = mix(offset);
	return place % 50 == 0 ? (int)(place / 400 % 8) : -1;
}

struct places random_places(const struct setting *setting, uint64_t step)
{
	struct places places;
	for (unsigned m = 0; m < MODULES; m++) {
		const uint64_t shift = random_next() % (1u << 12) * step;
		const uint64_t size = (code.end - code.start + CELLS) & -(uint64_t)CELLS;
		places.modules[m] = code.start - m * APART - shift;
		places.arenas[m] = (places.modules[m] & -4096ull) + size +
				   (random_next() % 1000 << 12) +
				   (setting->is_far ? 1ull << 33 : 0);
	}
	return places;
}

static bool is_own(void *context, uint64_t pc)
{
	(void)context, (void)pc;
	return true;
}

void open_process(struct process *process, const struct places *places,
		  const struct setting *setting)
{
	*process = (struct process){0};
	struct translator *translator = &process->translator;
	translator->source = (struct code_source){.context = process,
						  .read = read_code,
						  .locate = locate,
						  .value = value,
						  .is_own = is_own,
						  .allocator = allocator};
	translator->loop_is_slow = setting->loop_is_slow;
	translator->batch_insns = setting->batch_insns;
	translator->trace = setting->classes ? trace_config_create(setting->classes) : NULL;
	translator->quiet = true;
	for (unsigned m = 0; m < MODULES; m++) {
		process->modules[m] = places->modules[m];
		process->memory[m] = aligned_alloc(4096, ARENA_SIZE);
		cr_assert(process->memory[m]);
		memset(process->memory[m], 0, ARENA_SIZE);
		code_cache_add_arena(&translator->cache, places->arenas[m], process->memory[m],
				     ARENA_SIZE);
	}
}

void close_process(struct process *process)
{
	code_cache_deinit(&process->translator.cache);
	trace_config_destroy(process->translator.trace);
	inherit_end(&process->translator);
	free(process->translator.new_entries);
	for (unsigned m = 0; m < MODULES; m++)
		free(process->memory[m]);
}

struct request random_request(void)
{
	return (struct request){(unsigned)(random_next() % 16), (unsigned)(random_next() % MODULES),
				random_next() % (code.end - code.start), random_next()};
}

uint64_t ask(struct process *process, const struct request *request)
{
	struct translator *translator = &process->translator;
	uint64_t pc = process->modules[request->module] + request->offset, end = pc + 40;
	const char *why = NULL;
	switch (request->kind) {
	case 0:
		return translate_entry(translator, pc, &why);
	case 1:
		return translate_landing(translator, pc, &why);
	case 2:
		return translate_body(translator, pc, &why);
	case 3:
		return request->number % 8 ? 0 : translate_invalidate(translator, &pc, end);
	default:
		return translator->cache.n_stubs
			       ? translate_stub(translator,
						request->number % translator->cache.n_stubs, &pc,
						&why)
			       : 0;
	}
}

size_t code_size(void)
{
	return code.end - code.start;
}
