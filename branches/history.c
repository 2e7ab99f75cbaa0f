/* A shift register, and hashes of its youngest bits. */
#include "branches/history.h"

void history_push(struct branch_history *history, unsigned bit)
{
	for (int i = HISTORY_WORDS; i-- > 1;)
		history->words[i] = history->words[i] << 1 | history->words[i - 1] >> 63;
	history->words[0] = history->words[0] << 1 | (bit & 1);
}

void history_hashes(const struct branch_history *history, uint64_t place, const uint16_t *lengths,
		    unsigned n, uint64_t *hashes)
{
	unsigned whole = 0; /* words that are in x */
	uint64_t x = history_mix(0, place);
	for (unsigned i = 0; i < n; i++) {
		for (; whole < lengths[i] / 64u; whole++)
			x = history_mix(x, history->words[whole]);
		const unsigned rest = lengths[i] % 64u;
		const uint64_t bits =
			rest ? history->words[whole] & ((UINT64_C(1) << rest) - 1) : 0;
		hashes[i] = history_mix(x, bits ^ (uint64_t)lengths[i] << 56);
	}
}
