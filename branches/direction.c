/* TAGE and gshare. */
#include "branches/direction.h"

#include <string.h>

const uint16_t tage_lengths[TAGE_TABLES] = {4, 7, 12, 21, 36, 63, 110, 194};

void tage_init(struct tage *tage)
{
	memset(tage, 0, sizeof(*tage));
	memset(tage->base, -1, sizeof(tage->base));
	tage->random = TAGE_SEED;
}

uint32_t tage_random(uint32_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}

static void count(int8_t *counter, bool up, int most)
{
	if (up && *counter < most)
		++*counter;
	else if (!up && *counter > -most - 1)
		--*counter;
}

static bool is_weak(const struct tage_entry *entry)
{
	return entry->counter == 0 || entry->counter == -1;
}

/* Where a branch is found, with its history. */
struct look {
	struct tage_entry *entries[TAGE_TABLES];
	uint16_t tags[TAGE_TABLES];
	int8_t *base, *bias, *trust;
	int provider, alternate; /* tables, -1: base */
};

static void look_up(struct tage *tage, const struct branch_history *history, uint64_t place,
		    struct look *look)
{
	uint64_t hashes[TAGE_TABLES];
	history_hashes(history, place, tage_lengths, TAGE_TABLES, hashes);
	const uint64_t at = history_mix(0, place) >> (64 - TAGE_BASE_BITS);
	look->base = &tage->base[at];
	look->bias = &tage->bias[at];
	look->trust = &tage->trust[at];
	look->provider = look->alternate = -1;
	for (int i = 0; i < TAGE_TABLES; i++) {
		look->entries[i] = &tage->tables[i][hashes[i] >> (64 - TAGE_INDEX_BITS)];
		look->tags[i] = (uint16_t)((hashes[i] & ((1u << TAGE_TAG_BITS) - 1)) + 1);
		if (look->entries[i]->tag == look->tags[i]) {
			look->alternate = look->provider;
			look->provider = i;
		}
	}
}

static bool says(const struct look *look, int table)
{
	return table < 0 ? *look->base >= 0 : look->entries[table]->counter >= 0;
}

/* An entry with a longer history, where one is free; else these become easier to replace.  Which of
 * the tables is tried first is chosen by chance, the shorter ones more often, so that histories are
 * no longer than they need to be. */
static void allocate(struct tage *tage, const struct look *look, bool taken)
{
	int first = look->provider + 1;
	const uint32_t random = tage_random(&tage->random);
	for (int skip = 0; skip < 2 && first + 1 < TAGE_TABLES && random >> skip & 1; skip++)
		first++;
	for (int i = first; i < TAGE_TABLES; i++)
		if (!look->entries[i]->useful) {
			*look->entries[i] =
				(struct tage_entry){look->tags[i], (int8_t)(taken ? 0 : -1), 0};
			return;
		}
	for (int i = first; i < TAGE_TABLES; i++)
		look->entries[i]->useful--;
}

static void age(struct tage *tage)
{
	if (++tage->updates < TAGE_AGING)
		return;
	tage->updates = 0;
	for (int i = 0; i < TAGE_TABLES; i++)
		for (int k = 0; k < 1 << TAGE_INDEX_BITS; k++)
			tage->tables[i][k].useful /= 2;
}

static void learn_from_provider(struct tage *tage, const struct look *look, bool taken)
{
	struct tage_entry *entry = look->entries[look->provider];
	const bool provided = says(look, look->provider), other = says(look, look->alternate);
	const bool is_new = is_weak(entry) && !entry->useful;
	if (is_new && provided != other)
		count(&tage->use_alternate, other == taken, TAGE_ALTERNATE_MAX);
	if (is_new && look->alternate >= 0)
		count(&look->entries[look->alternate]->counter, taken, TAGE_COUNTER_MAX);
	else if (is_new)
		count(look->base, taken, TAGE_BASE_MAX);
	count(&entry->counter, taken, TAGE_COUNTER_MAX);
	if (provided != other && provided == taken && entry->useful < TAGE_USEFUL_MAX)
		entry->useful++;
	else if (provided != other && provided != taken && entry->useful)
		entry->useful--;
}

/* What is said in the end, of what the tables say. */
static bool correct(const struct look *look, bool tables, bool taken)
{
	const bool bias = *look->bias >= 0;
	const bool final = *look->trust >= 0 ? tables : bias;
	if (tables != bias)
		count(look->trust, tables == taken, TAGE_TRUST_MAX);
	count(look->bias, taken, TAGE_BIAS_MAX);
	return final;
}

bool tage_take(struct tage *tage, const struct branch_history *history, uint64_t place, bool taken)
{
	struct look look;
	look_up(tage, history, place, &look);
	const bool provided = says(&look, look.provider);
	bool predicted = provided;
	if (look.provider >= 0 && is_weak(look.entries[look.provider]) &&
	    !look.entries[look.provider]->useful && tage->use_alternate >= 0)
		predicted = says(&look, look.alternate);
	/* an entry that is right, but not trusted yet, needs no longer one */
	const bool allocates = predicted != taken && look.provider < TAGE_TABLES - 1 &&
			       !(look.provider >= 0 && provided == taken);
	if (look.provider >= 0)
		learn_from_provider(tage, &look, taken);
	else
		count(look.base, taken, TAGE_BASE_MAX);
	if (allocates)
		allocate(tage, &look, taken);
	age(tage);
	return correct(&look, predicted, taken);
}

bool gshare_take(struct gshare *gshare, const struct branch_history *history, uint64_t place,
		 bool taken)
{
	const uint64_t mask = (1u << GSHARE_BITS) - 1;
	const uint64_t at = (history_mix(0, place) >> (64 - GSHARE_BITS)) ^ history->words[0];
	int8_t *counter = &gshare->counters[at & mask];
	const bool predicted = *counter >= 0;
	count(counter, taken, 1);
	return predicted;
}
