/* What the gate records of accesses moves the same lines, for the same instructions, as all of them
 * do. */
#include "tests/unit/splitmix.h"
#include "tracer/traffic/access_filter.h"
#include "tracer/traffic/allocation_records.h"
#include "tracer/traffic/trace_ring.h"

#include <asm/prctl.h>
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* tracer/gate/gate.S */
extern const char gate_begin[], gate_record[], gate_end[];

#define WHOS 16
#define STEPS 100000
#define GEOMETRIES 60
#define POOL 24 /* lines that a walk is over */

#define GROUPS 64
#define OPERANDS 6 /* of a group, at the most */
#define ONE_LOAD 0 /* a group of one load of 8 bytes */

typedef uint64_t counts[N_TRAFFIC][WHOS];

/* What the translator would have put under one check: some operands in a certain order, with bytes
 * between them that none of them touches. */
struct group {
	uint32_t word;   /* of its records, without its number */
	uint32_t stored; /* of its records: between which bytes its stores lie (protocol.h) */
	unsigned n;
	struct {
		enum cache_access kind;
		unsigned at, bytes; /* from the group's lowest byte on */
		uint32_t who;
	} operands[OPERANDS];
};

static uint8_t *slot;
static uint64_t n_records, n_repeats, n_bursts;
static struct group groups[GROUPS];

static void note(void *context, enum traffic event, uint32_t who, uint64_t line)
{
	(void)line;
	(*(counts *)context)[event][who]++;
}

/* The gate itself, with the slot as its thread's. */
static void record(const char *gate, uint64_t address, uint32_t word, uint32_t extra)
{
	memcpy(slot + G_TRACE_ADDRESS, &address, sizeof(address));
	memcpy(slot + G_TRACE_WORD, &word, sizeof(word));
	memcpy(slot + G_TRACE_EXTRA, &extra, sizeof(extra));
	uint64_t scratch;
	__asm__ volatile("leaq 1f(%%rip), %0\n\tmovq %0, %%gs:%c2\n\tjmp *%1\n1:"
			 : "=&r"(scratch)
			 : "r"(gate + (gate_record - gate_begin)), "i"(G_TRACE_BACK)
			 : "memory", "cc");
}

static void tell_operand(struct hierarchy *hierarchy, const struct trace_record *record,
			 const struct group *group, unsigned i)
{
	uint64_t address = record->address + group->operands[i].at;
	for (unsigned n, rest = group->operands[i].bytes; rest; rest -= n, address += n) {
		const unsigned first = address % CACHE_LINE;
		n = rest < CACHE_LINE - first ? rest : CACHE_LINE - first;
		if (!trace_record_repeats(record) ||
		    record->extra == (uint32_t)(address / CACHE_LINE))
			hierarchy_access(hierarchy, 0, address / CACHE_LINE,
					 group->operands[i].kind, first, n, group->operands[i].who);
	}
}

static void tell(struct hierarchy *hierarchy, const struct trace_record *record)
{
	const struct group *group = &groups[record->word & ((1u << TRACE_GROUP_BITS) - 1)];
	for (unsigned i = 0; i < group->n; i++)
		tell_operand(hierarchy, record, group, i);
}

static void tell_all(struct hierarchy *hierarchy, const struct trace_record *records, size_t n)
{
	for (size_t i = 0; i < n && !is_end_of_chunk(&records[i]); i++) {
		tell(hierarchy, &records[i]);
		n_records++;
		n_repeats += trace_record_repeats(&records[i]);
	}
}

static void drain(struct trace_ring *ring, struct hierarchy *hierarchy)
{
	uint64_t stamp;
	size_t n;
	while (trace_ring_pending(ring, &stamp)) {
		n_bursts += trace_ring_is_burst(ring);
		const struct trace_record *records = trace_ring_chunk(ring, &n);
		tell_all(hierarchy, records, n);
		trace_ring_release(ring);
	}
}

/* Walks of several kinds take turns: in circles, at random, up and down, over few lines or many. */
struct walk {
	uint64_t state, lines[POOL];
	unsigned kind, size, at;
};

static void choose_walk(struct walk *walk)
{
	const uint64_t random = random_number(&walk->state);
	walk->kind = random % 4;
	walk->size = random >> 4 & 1 ? 2 + (random >> 8) % 5 : 2 + (random >> 8) % (POOL - 2);
	for (unsigned i = 0; i < POOL; i++) {
		const uint64_t choice = random_number(&walk->state);
		walk->lines[i] = 0x10000 + choice % 3 + 64 * (choice >> 8 & 63);
	}
}

static uint64_t next_line(struct walk *walk)
{
	const uint64_t random = random_number(&walk->state);
	if (random % 300 == 0)
		choose_walk(walk);
	switch (walk->kind) {
	case 0:
		walk->at++;
		break;
	case 1:
		walk->at = (unsigned)(random >> 16);
		break;
	case 2: /* mostly one line */
		walk->at = random >> 16 & 7 ? 0 : (unsigned)(random >> 24);
		break;
	default:
		walk->at += random >> 16 & 1 ? 1 : walk->size - 1;
	}
	return walk->lines[walk->at % walk->size];
}

/* The words of a group's records, from its operands, as the translator makes them. */
static void describe(struct group *group)
{
	unsigned high = 0, from = UINT32_MAX, to = 0;
	group->word = 0;
	for (unsigned i = 0; i < group->n; i++) {
		const unsigned at = group->operands[i].at, end = at + group->operands[i].bytes;
		high = end > high ? end : high;
		if (group->operands[i].kind == CACHE_NON_TEMPORAL)
			group->word |= TRACE_CHANGES;
		if (group->operands[i].kind != CACHE_STORE)
			continue;
		group->word |= TRACE_STORES;
		from = at < from ? at : from;
		to = end > to ? end : to;
	}
	group->word |= (high + 7) / 8 << TRACE_SPAN_SHIFT;
	group->stored = TRACE_STORED(from, to);
}

/* `stores`: so many operands of eight. */
static void choose_operands(struct group *group, uint64_t *state, unsigned stores)
{
	const uint64_t random = random_number(state);
	group->n = random % 2 ? 1 : 1 + (random >> 8) % OPERANDS;
	const unsigned width = random >> 16 & 7 ? 24 : 160; /* how far apart they begin */
	for (unsigned i = 0; i < group->n; i++) {
		const uint64_t choice = random_number(state);
		group->operands[i].kind = choice % 8 < stores ? CACHE_STORE : CACHE_LOAD;
		group->operands[i].at = i ? (choice >> 8) % width : 0;
		group->operands[i].bytes =
			choice >> 20 & 7 ? 1u << (choice >> 24) % 5 : 8 * (1 + (choice >> 24) % 20);
		group->operands[i].who = (choice >> 40) % WHOS;
	}
}

static void choose_groups(uint64_t seed)
{
	uint64_t state = seed;
	for (unsigned g = 0; g < GROUPS; g++) {
		choose_operands(&groups[g], &state, (unsigned)seed % 5);
		if (g == ONE_LOAD)
			groups[g] = (struct group){.n = 1, .operands = {{CACHE_LOAD, 0, 8, 0}}};
		if (g == GROUPS - 1)
			groups[g].operands[0].kind = CACHE_NON_TEMPORAL;
		describe(&groups[g]);
	}
}

static struct trace_record choose(struct walk *walk)
{
	const uint64_t line = next_line(walk), random = random_number(&walk->state);
	const uint32_t first = random >> 16 & 7 ? (random >> 20 & 7) * 8 : (random >> 20) & 63;
	const bool past = (random >> 32) % 4000 == 0;
	const uint32_t g = past ? GROUPS - 1 : (uint32_t)(random >> 48) % (GROUPS - 1);
	return (struct trace_record){.address = line * CACHE_LINE + first,
				     .word = g | groups[g].word,
				     .extra = groups[g].stored};
}

/* Asks for bursts while the gate runs, as the drain does. */
struct asker {
	struct trace_ring ring;
	volatile bool stop;
};

static void *ask(void *argument)
{
	struct asker *asker = argument;
	while (!asker->stop) {
		trace_ring_ask_burst(&asker->ring);
		usleep(50);
	}
	return NULL;
}

static void compare(const char *gate, const char *text, uint64_t seed,
		    const struct line_sample *full)
{
	static counts plain, recorded;
	struct geometry geometry;
	struct trace_ring ring;
	struct walk walk = {.state = seed};
	size_t n;
	cr_assert_null(geometry_parse(text, &geometry), "%s", text);
	memset(plain, 0, sizeof(plain));
	memset(recorded, 0, sizeof(recorded));
	struct hierarchy *one = hierarchy_create(&geometry, 1, ~0ull, false, note, &plain);
	struct hierarchy *other = hierarchy_create(&geometry, 1, ~0ull, false, note, &recorded);
	trace_ring_init(&ring, slot, (uint64_t)slot, ~0ull, full,
			access_filter_lines(&geometry, false), access_filter_set_bits(&geometry));
	choose_groups(seed);
	choose_walk(&walk);
	struct asker asker = {.ring = ring};
	pthread_t thread;
	const bool asks = seed % 2 && pthread_create(&thread, NULL, ask, &asker) == 0;
	for (int i = 0; i < STEPS; i++) {
		const struct trace_record access = choose(&walk);
		tell(one, &access);
		if (random_number(&walk.state) % 5000 == 0)
			trace_ring_ask_burst(&ring);
		record(gate, access.address, access.word, access.extra);
		drain(&ring, other);
	}
	for (uint64_t line = 0; line < 4 * 64; line++) { /* nothing is left in a window */
		const struct trace_record last = {.address = line * CACHE_LINE,
						  .word = ONE_LOAD | groups[ONE_LOAD].word};
		tell(one, &last);
		record(gate, last.address, last.word, 0);
	}
	asker.stop = true;
	if (asks)
		pthread_join(thread, NULL);
	drain(&ring, other);
	const struct trace_record *rest = trace_ring_rest(&ring, &n);
	tell_all(other, rest, n);
	hierarchy_finish(one);
	hierarchy_finish(other);
	for (int event = 0; event < N_TRAFFIC; event++)
		for (int who = 0; who < WHOS; who++)
			if (event != TRAFFIC_MEM_EVADABLE)
				cr_expect_eq(plain[event][who], recorded[event][who],
					     "%s, seed %d: event %d, who %d: %d, not %d", text,
					     (int)seed, event, who, (int)recorded[event][who],
					     (int)plain[event][who]);
	hierarchy_destroy(one);
	hierarchy_destroy(other);
}

static const struct {
	const char *text;
	unsigned lines;
} geometries[] = {
	{"L1=16K:4,L2=32K:8,L3=128K:16", 4},
	{"L1=32K:8,L2=64K:8,L3=256K:16:victim", 4},
	{"L1=48K:12,L2=64K:8", 4},
	{"L1=32K:8:plru,L2=64K:8:plru,L3=128K:16:plru", 4},
	{"L1=16K:4:plru,L2=32K:8:plru,L3=128K:16:plru", 1},
	{"L1=16K:4,L2=32K:8,L3=128K:16:inclusive", 4},
	{"L1=32K:8,L2=64K:8:inclusive,L3=64K:8:victim", 4},
	{"L1=16K:4,L2=32K:8:inclusive,L3=64K:16:victim", 4},
	{"L1=32K:4,L2=64K:8:inclusive,L3=192K:12", 4},
	{"L1=16K:4,L2=28K:7:inclusive", 4},
	{"L1=32K:8:plru,L2=40K:10,L3=48K:12:inclusive", 4},
	{"L1=16K:4,L2=32K:8:inclusive,L3=48K:12:inclusive", 4},
	{"L1=16K:4,L2=24K:6:inclusive", 1},
	{"L1=16K:4,L2=32K:8:plru:inclusive", 1},
	{"L1=16K:4,L2=32K:8,L3=72K:9:inclusive", 1},
	{"L1=8K:2,L2=32K:8,L3=128K:16", 1},
	{"L1=8K:4,L2=32K:8,L3=128K:16", 0},
};

static const char *place_gate(void)
{
	const size_t size = (size_t)(gate_end - gate_begin);
	char *gate = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	slot = mmap(NULL, SLOT_STRIDE, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	cr_assert(gate != MAP_FAILED && slot != MAP_FAILED);
	memcpy(gate, gate_begin, size);
	cr_assert_eq(mprotect(gate, size, PROT_READ | PROT_EXEC), 0);
	*(uint64_t *)(slot + G_SELF) = (uint64_t)slot;
	cr_assert_eq(syscall(SYS_arch_prctl, ARCH_SET_GS, slot), 0);
	return gate;
}

Test(trace_window, moves_the_same_lines, .timeout = 120)
{
	if (!__builtin_cpu_supports("bmi2"))
		cr_skip_test("no BMI2 instructions");
	const char *gate = place_gate();
	static const struct line_sample full[] = {{~0ull, 0}, {1, 0}, {~0ull, 0xc0000000}};
	for (size_t i = 0; i < sizeof(geometries) / sizeof(geometries[0]); i++)
		for (uint64_t seed = 1; seed <= 6; seed++) {
			n_records = n_repeats = n_bursts = 0;
			compare(gate, geometries[i].text, seed, &full[seed % 3]);
			if (geometries[i].lines == WINDOW_WAYS && seed % 3 && seed % 2 == 0)
				cr_expect(n_repeats > 500 && n_records < STEPS,
					  "%s: %d records, %d of them again", geometries[i].text,
					  (int)n_records, (int)n_repeats);
			cr_expect(n_bursts > TRACE_BURSTS_FIRST + 5, "%d bursts", (int)n_bursts);
		}
}

/* Of ways and sets by chance; the second and the third level are inclusive, or not, by chance. */
static void choose_geometry(char *text, size_t size, uint64_t *state)
{
	static const char *const inclusions[] = {"", ":inclusive", ":inclusive", ":victim"};
	const uint64_t random = random_number(state);
	const unsigned first = 4 + random % 3, second = 7 + (random >> 8) % 6,
		       third = 13 + (random >> 16) % 4, sets = (random >> 24) % 3;
	snprintf(text, size, "L1=%uK:%u,L2=%uK:%u%s,L3=%uK:%u%s", 4 * first, first,
		 4 * second << sets, second, inclusions[(random >> 32) % 3],
		 4 * third << (sets + (random >> 28) % 2), third, inclusions[(random >> 40) % 4]);
}

Test(trace_window, moves_the_same_lines_of_any_geometry, .timeout = 120)
{
	if (!__builtin_cpu_supports("bmi2"))
		cr_skip_test("no BMI2 instructions");
	const char *gate = place_gate();
	static const struct line_sample full = {~0ull, 0xc0000000};
	for (uint64_t seed = 1; seed <= GEOMETRIES; seed++) {
		char text[100];
		uint64_t state = seed;
		choose_geometry(text, sizeof(text), &state);
		compare(gate, text, seed, &full);
	}
}

/* ---- how many chunks may wait ---- */

/* Takes nothing until the gate's thread waits; then all there is, and another depth is in force. */
struct lazy {
	struct trace_ring ring;
	uint64_t state;
	unsigned stops, wrong;
	volatile bool stop;
};

static uint32_t word_of(size_t at)
{
	return __atomic_load_n((const uint32_t *)(slot + at), __ATOMIC_ACQUIRE);
}

static void *take_lazily(void *argument)
{
	struct lazy *lazy = argument;
	uint64_t stamp;
	size_t n;
	while (!lazy->stop) {
		usleep(50); /* where the thread has gone on all the same, it has done so by then */
		const uint32_t full = word_of(G_TRACE_FILLED) - word_of(G_TRACE_DRAINED);
		/* with fewer it looks once more before it waits; else this never ends */
		if (!word_of(G_TRACE_WAITS) || full < lazy->ring.depth)
			continue;
		lazy->stops++;
		lazy->wrong += full > lazy->ring.depth;
		trace_ring_set_depth(&lazy->ring,
				     1 + (uint32_t)(random_number(&lazy->state) % TRACE_CHUNKS));
		while (trace_ring_pending(&lazy->ring, &stamp)) {
			(void)trace_ring_chunk(&lazy->ring, &n);
			trace_ring_release(&lazy->ring);
		}
	}
	return NULL;
}

/* The gate waits where as many chunks are full as the tracer allows at that time, and not before.
 */
Test(trace_window, as_many_chunks_wait_as_may, .timeout = 120)
{
	enum { CHUNKS = 3000 };
	static const struct line_sample none = {0, 0};
	const uint64_t records = (uint64_t)CHUNKS * TRACE_CHUNK / sizeof(struct trace_record);
	if (!__builtin_cpu_supports("bmi2"))
		cr_skip_test("no BMI2 instructions");
	const char *gate = place_gate();
	struct lazy lazy = {.state = 5};
	pthread_t thread;
	choose_groups(1);
	trace_ring_init(&lazy.ring, slot, (uint64_t)slot, ~0ull, &none, 0, 0);
	trace_ring_set_depth(&lazy.ring, 4);
	cr_assert_eq(pthread_create(&thread, NULL, take_lazily, &lazy), 0);
	for (uint64_t i = 0; i < records; i++)
		record(gate, (0x10000 + i) * CACHE_LINE, ONE_LOAD | groups[ONE_LOAD].word, 0);
	lazy.stop = true;
	pthread_join(thread, NULL);
	cr_expect_gt(lazy.stops, CHUNKS / TRACE_CHUNKS, "%u", lazy.stops);
	cr_expect_eq(lazy.wrong, 0, "%u of %u", lazy.wrong, lazy.stops);
}

Test(trace_window, is_as_wide_as_is_exact)
{
	struct geometry geometry;
	for (size_t i = 0; i < sizeof(geometries) / sizeof(geometries[0]); i++) {
		cr_assert_null(geometry_parse(geometries[i].text, &geometry));
		cr_expect_eq(access_filter_lines(&geometry, false), geometries[i].lines, "%s",
			     geometries[i].text);
	}
}
