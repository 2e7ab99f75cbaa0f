#include "tests/reference/branch_reference.h"

#include <stdlib.h>

/* Of all kinds of tables: what is not there is as at first. */
struct entry {
	int table;
	uint64_t index;
	int counter, useful;
	uint64_t tag, target;
};

enum { TAGE = 0, TAGE_BASE = 100, TAGE_BIAS, TAGE_TRUST, GSHARE, ITTAGE = 200, ITTAGE_BASE = 300 };

struct reference_predictor {
	struct entry *entries;
	size_t n_entries;
	bool *outcomes; /* the youngest one last */
	size_t n_outcomes;
	uint64_t *calls; /* the youngest one last */
	size_t n_calls;
	uint32_t tage_state, ittage_state;
	int alternate;
	unsigned updates;
};

struct reference_predictor *reference_predictor_create(void)
{
	struct reference_predictor *new = calloc(1, sizeof(*new));
	new->tage_state = new->ittage_state = TAGE_SEED;
	return new;
}

void reference_predictor_destroy(struct reference_predictor *predictor)
{
	free(predictor->entries);
	free(predictor->outcomes);
	free(predictor->calls);
	free(predictor);
}

/* The number of the entry, which is made where it is not there. */
static size_t find(struct reference_predictor *p, int table, uint64_t index)
{
	for (size_t i = 0; i < p->n_entries; i++)
		if (p->entries[i].table == table && p->entries[i].index == index)
			return i;
	p->entries = realloc(p->entries, (p->n_entries + 1) * sizeof(*p->entries));
	p->entries[p->n_entries] = (struct entry){.table = table,
						  .index = index,
						  .counter = table == TAGE_BASE ? -1 : 0};
	return p->n_entries++;
}

static bool youngest(const struct reference_predictor *p, size_t k)
{
	return k < p->n_outcomes && p->outcomes[p->n_outcomes - 1 - k];
}

static void push(struct reference_predictor *p, bool outcome)
{
	p->outcomes = realloc(p->outcomes, p->n_outcomes + 1);
	p->outcomes[p->n_outcomes++] = outcome;
}

static uint64_t hash(const struct reference_predictor *p, uint64_t place, unsigned length)
{
	uint64_t x = history_mix(0, place), word = 0;
	for (unsigned k = 0; k < length; k++) {
		word |= (uint64_t)youngest(p, k) << k % 64;
		if (k % 64 == 63) {
			x = history_mix(x, word);
			word = 0;
		}
	}
	return history_mix(x, word ^ (uint64_t)length << 56);
}

static uint64_t top(uint64_t x, int bits)
{
	return x >> (64 - bits);
}

static int moved(int counter, bool up, int lowest, int highest)
{
	return up ? counter + (counter < highest) : counter - (counter > lowest);
}

static bool tage(struct reference_predictor *p, uint64_t place, bool taken)
{
	size_t at[TAGE_TABLES + 1]; /* 0: the base */
	uint64_t tag[TAGE_TABLES + 1] = {0};
	int provider = 0, other = 0;
	at[0] = find(p, TAGE_BASE, top(history_mix(0, place), TAGE_BASE_BITS));
	for (int i = 1; i <= TAGE_TABLES; i++) {
		const uint64_t h = hash(p, place, tage_lengths[i - 1]);
		at[i] = find(p, TAGE + i, top(h, TAGE_INDEX_BITS));
		tag[i] = h % (1 << TAGE_TAG_BITS) + 1;
		if (p->entries[at[i]].tag == tag[i]) {
			other = provider;
			provider = i;
		}
	}
	struct entry *e = &p->entries[at[provider]], *o = &p->entries[at[other]];
	const bool is_new = provider && !e->useful && (e->counter == 0 || e->counter == -1);
	const bool by_e = e->counter >= 0, by_o = o->counter >= 0;
	const bool predicted = is_new && p->alternate >= 0 ? by_o : by_e;
	if (is_new && by_e != by_o)
		p->alternate = moved(p->alternate, by_o == taken, -8, 7);
	if (is_new)
		o->counter = moved(o->counter, taken, other ? -4 : -2, other ? 3 : 1);
	e->counter = moved(e->counter, taken, provider ? -4 : -2, provider ? 3 : 1);
	if (provider && by_e != by_o)
		e->useful = moved(e->useful, by_e == taken, 0, 3);
	if (predicted != taken && provider < TAGE_TABLES && !(provider && by_e == taken)) {
		const uint32_t random = tage_random(&p->tage_state);
		int first = provider + 1, free_one = 0;
		if (first < TAGE_TABLES && random % 2)
			first++;
		if (first == provider + 2 && first < TAGE_TABLES && random / 2 % 2)
			first++;
		for (int i = TAGE_TABLES; i >= first; i--)
			if (!p->entries[at[i]].useful)
				free_one = i;
		for (int i = first; i <= TAGE_TABLES && !free_one; i++)
			p->entries[at[i]].useful--;
		if (free_one) {
			p->entries[at[free_one]].tag = tag[free_one];
			p->entries[at[free_one]].counter = taken ? 0 : -1;
		}
	}
	if (++p->updates == TAGE_AGING) {
		p->updates = 0;
		for (size_t i = 0; i < p->n_entries; i++)
			if (p->entries[i].table > TAGE && p->entries[i].table < TAGE_BASE)
				p->entries[i].useful /= 2;
	}
	const uint64_t base = top(history_mix(0, place), TAGE_BASE_BITS);
	const size_t bias_at = find(p, TAGE_BIAS, base), trust_at = find(p, TAGE_TRUST, base);
	struct entry *bias = &p->entries[bias_at], *trust = &p->entries[trust_at];
	const bool by_bias = bias->counter >= 0, final = trust->counter < 0 ? by_bias : predicted;
	if (by_bias != predicted)
		trust->counter = moved(trust->counter, predicted == taken, -32, 31);
	bias->counter = moved(bias->counter, taken, -32, 31);
	return final;
}

static bool gshare(struct reference_predictor *p, uint64_t place, bool taken)
{
	uint64_t bits = 0;
	for (unsigned k = 0; k < GSHARE_BITS; k++)
		bits |= (uint64_t)youngest(p, k) << k;
	const size_t at = find(p, GSHARE, top(history_mix(0, place), GSHARE_BITS) ^ bits);
	struct entry *e = &p->entries[at];
	const bool predicted = e->counter >= 0;
	e->counter = moved(e->counter, taken, -2, 1);
	return predicted;
}

static bool ittage(struct reference_predictor *p, uint64_t place, uint64_t target, bool *last)
{
	size_t at[ITTAGE_TABLES + 1];
	uint64_t tag[ITTAGE_TABLES + 1] = {0};
	int provider = 0, other = 0;
	at[0] = find(p, ITTAGE_BASE, top(history_mix(0, place), ITTAGE_BASE_BITS));
	for (int i = 1; i <= ITTAGE_TABLES; i++) {
		const uint64_t h = hash(p, place, ittage_lengths[i - 1]);
		at[i] = find(p, ITTAGE + i, top(h, ITTAGE_INDEX_BITS));
		tag[i] = h % (1 << ITTAGE_TAG_BITS) + 1;
		if (p->entries[at[i]].tag == tag[i]) {
			other = provider;
			provider = i;
		}
	}
	struct entry *e = &p->entries[at[provider]];
	const uint64_t by_e = e->target, by_o = p->entries[at[other]].target;
	const uint64_t predicted = provider && e->counter ? by_e : by_o;
	*last = p->entries[at[0]].target == target;
	if (provider && by_e != by_o)
		e->useful = by_e == target;
	if (provider && by_e == target)
		e->counter = moved(e->counter, true, 0, 3);
	else if (provider && e->counter)
		e->counter--;
	else if (provider)
		e->target = target;
	p->entries[at[0]].target = target;
	if (predicted != target && by_e != target && provider < ITTAGE_TABLES) {
		int first = provider + 1, free_one = 0;
		if (first < ITTAGE_TABLES && tage_random(&p->ittage_state) % 2)
			first++;
		for (int i = ITTAGE_TABLES; i >= first; i--)
			if (!p->entries[at[i]].useful)
				free_one = i;
		for (int i = first; i <= ITTAGE_TABLES && !free_one; i++)
			p->entries[at[i]].useful = 0;
		if (free_one) {
			struct entry *new = &p->entries[at[free_one]];
			new->tag = tag[free_one];
			new->target = target;
			new->counter = 0;
		}
	}
	return predicted == target;
}

static enum branch_guess guess(bool right)
{
	return right ? BRANCH_RIGHT : BRANCH_WRONG;
}

struct branch_guesses reference_predictor_take(struct reference_predictor *p,
					       const struct executed_branch *branch)
{
	struct branch_guesses guesses = {BRANCH_RIGHT, BRANCH_RIGHT};
	if (branch->kind == PREDICT_CONDITIONAL) {
		guesses.tage = guess(tage(p, branch->place, branch->taken) == branch->taken);
		guesses.plain = guess(gshare(p, branch->place, branch->taken) == branch->taken);
		push(p, branch->taken);
	}
	if (branch->kind == PREDICT_JUMP || branch->kind == PREDICT_CALL) {
		bool last;
		const uint64_t bits = top(history_mix(0, branch->target), 2);
		guesses.tage = guess(ittage(p, branch->place, branch->target, &last));
		guesses.plain = guess(last);
		push(p, bits % 2);
		push(p, bits / 2);
	}
	if (branch->kind == PREDICT_CALL || branch->kind == PREDICT_DIRECT_CALL) {
		p->calls = realloc(p->calls, (p->n_calls + 1) * sizeof(*p->calls));
		p->calls[p->n_calls++] = branch->return_to;
	}
	if (branch->kind == PREDICT_RETURN) {
		/* of those that are below, the processor has forgotten */
		guesses.tage = !p->n_calls ? BRANCH_UNKNOWN
					   : guess(p->calls[p->n_calls - 1] == branch->target);
		p->n_calls -= p->n_calls > 0;
		guesses.plain = guesses.tage;
	}
	return guesses;
}
