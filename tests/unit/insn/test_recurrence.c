/* Recurrences of loops whose answer is known, and of random ones against the slow and obvious way:
 * to follow thousands of turns, every address by its number, and to see how fast the longest chain
 * grows. */
#include "insn/recurrence.h"
#include "tests/unit/splitmix.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

/* ---- loops of known length ---- */

#define ADD 3 /* of floating-point numbers */
#define LOAD 5
#define FORWARD 6

/* Assembled with gas 2.40; the comments are its disassembly.  Every instruction that computes takes
 * as long as dataflow.h says at least. */
static const struct {
	const char *what, *code;
	size_t size;
	uint32_t cycles, turns; /* turns: of the circle */
	uint32_t loads;
	bool memory;
} known[] = {
	{"add rax,8; dec rcx; jnz", "\x48\x83\xc0\x08\x48\xff\xc9\x75\xf7", 9, 1, 1, 0, false},
	{"addsd xmm0,[rdi]; add rdi,8; dec rcx; jnz",
	 "\xf2\x0f\x58\x07\x48\x83\xc7\x08\x48\xff\xc9\x75\xf3", 13, ADD, 1, 0, false},
	{"mov rax,[rax]; dec rcx; jnz", "\x48\x8b\x00\x48\xff\xc9\x75\xf8", 8, LOAD, 1, 1, false},
	/* fibonacci: two turns for two additions */
	{"movapd xmm2,xmm0; addsd xmm0,xmm1; movapd xmm1,xmm2; dec rcx; jnz",
	 "\x66\x0f\x28\xd0\xf2\x0f\x58\xc1\x66\x0f\x28\xca\x48\xff\xc9\x75\xef", 17, ADD, 1, 0,
	 false},
	/* a[i] = a[i - 1] + x, each through its own place */
	{"movsd xmm0,[rdi]; addsd xmm0,xmm1; movsd [rdi+8],xmm0; add rdi,8; dec rcx; jnz",
	 "\xf2\x0f\x10\x07\xf2\x0f\x58\xc1\xf2\x0f\x11\x47\x08\x48\x83\xc7\x08\x48\xff\xc9\x75\xea",
	 22, ADD + FORWARD, 1, 0, true},
	/* a[i] = a[i - 3] + x */
	{"movsd xmm0,[rdi]; addsd xmm0,xmm1; movsd [rdi+24],xmm0; add rdi,8; dec rcx; jnz",
	 "\xf2\x0f\x10\x07\xf2\x0f\x58\xc1\xf2\x0f\x11\x47\x18\x48\x83\xc7\x08\x48\xff\xc9\x75\xea",
	 22, ADD + FORWARD, 3, 0, true},
	/* a[i] = a[i] + x: no turn needs what another has stored */
	{"movsd xmm0,[rdi]; addsd xmm0,xmm1; movsd [rdi],xmm0; add rdi,8; dec rcx; jnz",
	 "\xf2\x0f\x10\x07\xf2\x0f\x58\xc1\xf2\x0f\x11\x07\x48\x83\xc7\x08\x48\xff\xc9\x75\xeb", 21,
	 1, 1, 0, false},
	{"cmp rbx,rax; cmovg rax,rbx; dec rcx; jnz",
	 "\x48\x39\xc3\x48\x0f\x4f\xc3\x48\xff\xc9\x75\xf4", 12, 2, 1, 0, false},
};

static size_t steps_of(const char *code, size_t size, struct dataflow *flows,
		       struct recurrence_step *steps)
{
	size_t n = 0, at = 0;
	while (at < size) {
		cr_assert(dataflow_of_bytes((const uint8_t *)code + at, size - at, &flows[n]));
		at += flows[n].work.length;
		steps[n] = (struct recurrence_step){
			.flow = &flows[n], .end = at, .load = LOAD, .forward = FORWARD};
		for (int i = 0; i <= FORM_OPERANDS; i++)
			steps[n].latency[i] = flows[n].latency;
		n++;
	}
	return n;
}

Test(recurrence, of_loops_of_known_length)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		struct dataflow flows[16];
		struct recurrence_step steps[16];
		struct recurrence found;
		const size_t n = steps_of(known[i].code, known[i].size, flows, steps);
		cr_assert_null(recurrence_find(steps, n, &found));
		cr_expect_eq(found.cycles * known[i].turns, (uint64_t)known[i].cycles * found.turns,
			     "%s: %llu in %u turns", known[i].what,
			     (unsigned long long)found.cycles, found.turns);
		cr_expect_eq(found.loads, known[i].loads, "%s: %u loads", known[i].what,
			     found.loads);
		cr_expect_eq(found.memory, known[i].memory, "%s", known[i].what);
	}
}

/* xor rax,[rsi]; mov [rdi],rax; dec rcx; jnz: the places do not tell that the one is the other */
Test(recurrence, through_a_store_that_loads_were_seen_behind)
{
	static const char code[] = "\x48\x33\x06\x48\x89\x07\x48\xff\xc9\x75\xf5",
			  fresh[] = "\x48\x8b\x06\x48\x89\x07\x48\xff\xc9\x75\xf5";
	struct dataflow flows[4];
	struct recurrence_step steps[4];
	struct recurrence found;
	cr_assert_eq(steps_of(code, 11, flows, steps), 4);
	cr_assert_null(recurrence_find(steps, 4, &found));
	cr_expect(found.cycles == 1 && found.turns == 1, "xor alone");
	for (uint32_t turns = 1; turns < 8; turns++) {
		cr_assert_eq(steps_of(fresh, 11, flows, steps), 4);
		steps[0].stored_by = 2;
		steps[0].stored_turns = turns;
		steps[0].forward = 20;
		cr_assert_null(recurrence_find(steps, 4, &found));
		cr_expect(found.cycles == 20 && found.turns == turns && found.memory,
			  "%u turns: %llu in %u", turns, (unsigned long long)found.cycles,
			  found.turns);
	}
	cr_assert_eq(steps_of(fresh, 11, flows, steps), 4);
	steps[0].stored_by = 2;
	steps[0].stored_turns = 8;
	steps[0].forward = 20;
	cr_assert_null(recurrence_find(steps, 4, &found));
	cr_expect(found.cycles == 1 && !found.memory, "too far back");
}

Test(recurrence, of_nothing)
{
	struct recurrence found;
	cr_assert_null(recurrence_find(NULL, 0, &found));
	cr_expect_eq(found.turns, 0);
}

/* ---- random loops ---- */

#define LOOPS 3000
#define MOST_STEPS 9
#define WARM 2000   /* turns until the longest chain has won */
#define PERIOD 2520 /* is a whole number of any circle of up to 10 turns */
#define STORES 128  /* that are remembered: more than there are in 10 turns */

static uint64_t state = 21;

static unsigned random_below(unsigned n)
{
	return (unsigned)(random_number(&state) % n);
}

/* General registers 0 to 2 hold addresses, 3 to 5 numbers. */
static void random_step(struct dataflow *flow, struct recurrence_step *step)
{
	*flow = (struct dataflow){.memory = {NO_REGISTER, NO_REGISTER, 0, 0, false}};
	*step = (struct recurrence_step){.flow = flow,
					 .load = random_below(6),
					 .forward = random_below(8)};
	for (int i = 0; i <= FORM_OPERANDS; i++)
		step->latency[i] = random_below(7);
	if (random_below(4) == 0) {
		flow->steps = true;
		flow->step = 8 * (int64_t)random_below(3) - 8;
		flow->n_writes = flow->n_reads = 1;
		flow->writes[0] = (uint8_t)random_below(3);
		flow->reads[0] = flow->step_of =
			random_below(3) ? flow->writes[0] : (uint8_t)random_below(3);
		return;
	}
	flow->n_reads = (uint8_t)random_below(3);
	for (int i = 0; i < flow->n_reads; i++) {
		flow->reads[i] = (uint8_t)(3 + random_below(3));
		flow->read_as[i] = (uint8_t)random_below(FORM_OPERANDS + 1);
	}
	flow->n_writes = (uint8_t)(random_below(5) != 0);
	flow->writes[0] = (uint8_t)(random_below(12) ? 3 + random_below(3) : random_below(3));
	flow->loads = random_below(3) == 0;
	flow->stores = random_below(3) == 0;
	flow->memory_as = (uint8_t)random_below(FORM_OPERANDS + 1);
	if (flow->loads || flow->stores)
		flow->memory = (struct memory_place){.base = (uint8_t)random_below(3),
						     .index = NO_REGISTER,
						     .displacement = 8 * random_below(4)};
	if ((flow->loads || flow->stores) && random_below(4) == 0) {
		flow->memory.index = (uint8_t)random_below(3);
		flow->memory.scale = 1;
	}
}

struct follower {
	uint64_t value[N_REGISTERS], at[N_REGISTERS]; /* numbers, and when they are there */
	uint64_t address[STORES], stored_at[STORES];  /* the last stores */
	size_t n_stores;
	uint64_t last; /* when the last result of all is there */
};

static uint64_t address_of(const struct follower *follower, const struct memory_place *place)
{
	return follower->value[place->base] + (uint64_t)place->displacement +
	       (place->index != NO_REGISTER ? follower->value[place->index] * place->scale : 0);
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t loaded_at(const struct follower *follower, const struct recurrence_step *step)
{
	const struct memory_place *place = &step->flow->memory;
	const uint64_t address = address_of(follower, place);
	const uint32_t latency = step->latency[step->flow->memory_as];
	uint64_t time = follower->at[place->base] + step->load + latency;
	if (place->index != NO_REGISTER)
		time = later(time, follower->at[place->index] + step->load + latency);
	for (size_t i = follower->n_stores; i-- > 0 && i + STORES >= follower->n_stores;)
		if (follower->address[i % STORES] == address)
			return later(time,
				     follower->stored_at[i % STORES] + step->forward + latency);
	return time;
}

static void follow_step(struct follower *follower, const struct recurrence_step *step)
{
	const struct dataflow *flow = step->flow;
	uint64_t time = 0;
	for (int i = 0; i < flow->n_reads; i++)
		time = later(time, follower->at[flow->reads[i]] + step->latency[flow->read_as[i]]);
	if (flow->loads)
		time = later(time, loaded_at(follower, step));
	if (flow->stores) {
		const size_t i = follower->n_stores++ % STORES;
		follower->address[i] = address_of(follower, &flow->memory);
		follower->stored_at[i] = time;
	}
	follower->last = later(follower->last, time);
	if (!flow->n_writes)
		return;
	follower->at[flow->writes[0]] = time;
	follower->value[flow->writes[0]] =
		flow->steps ? follower->value[flow->step_of] + (uint64_t)flow->step
			    : random_number(&state);
}

/* How much later the last value is there after so many turns more. */
static uint64_t growth(const struct recurrence_step *steps, size_t n)
{
	struct follower *follower = calloc(1, sizeof(*follower));
	uint64_t before = 0;
	for (int i = 0; i < N_REGISTERS; i++)
		follower->value[i] = random_number(&state);
	for (int i = 0; i < 3; i++) /* multiples of what is stepped by, far from one another */
		follower->value[i] &= ~UINT64_C(7);
	for (int turn = 0; turn < WARM + PERIOD; turn++) {
		if (turn == WARM)
			before = follower->last;
		for (size_t i = 0; i < n; i++)
			follow_step(follower, &steps[i]);
	}
	const uint64_t after = follower->last;
	free(follower);
	return after - before;
}

Test(recurrence, of_random_loops_is_how_fast_the_longest_chain_grows)
{
	unsigned through_memory = 0, of_several_turns = 0;
	for (int loop = 0; loop < LOOPS; loop++) {
		struct dataflow flows[MOST_STEPS];
		struct recurrence_step steps[MOST_STEPS];
		struct recurrence found;
		const size_t n = 1 + random_below(MOST_STEPS);
		for (size_t i = 0; i < n; i++)
			random_step(&flows[i], &steps[i]);
		cr_assert_null(recurrence_find(steps, n, &found));
		cr_assert_leq(found.turns, 10);
		const uint64_t grown = growth(steps, n);
		cr_assert_eq(found.cycles * PERIOD, grown * (found.turns ?: 1),
			     "loop %d of %zu: %llu in %u turns, but %llu in %d", loop, n,
			     (unsigned long long)found.cycles, found.turns,
			     (unsigned long long)grown, PERIOD);
		uint64_t parts = 0;
		for (int k = 0; k < STEP_KINDS; k++)
			parts += found.by_kind[k];
		cr_assert_eq(parts, found.cycles);
		through_memory += found.memory;
		of_several_turns += found.turns > 1;
	}
	cr_expect_gt(through_memory, LOOPS / 20, "only %u", through_memory);
	cr_expect_gt(of_several_turns, LOOPS / 300, "only %u", of_several_turns);
}
