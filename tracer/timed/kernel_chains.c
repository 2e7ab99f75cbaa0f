/* Keeps chains of kernel addresses by their hash. */
#include "tracer/timed/kernel_chains.h"

#include "base/array.h"
#include "base/u64_map.h"
#include "profile/kernel_names.h"

#include <linux/perf_event.h>
#include <string.h>

/* The innermost functions say what a thread waits for, the outermost what it has asked for. */
enum { INNER = 20, OUTER = 8, MOST = INNER + OUTER };

struct chain {
	uint32_t first, n;
};

struct kernel_chains {
	struct kept_store *kept;
	struct kernel_symbols *symbols;
	struct chain *chains; /* number 1 is the first: the empty one */
	size_t n_chains, cap_chains;
	uint64_t *addresses;
	size_t n_addresses, cap_addresses;
	struct u64_map of_hash;
};

struct kernel_chains *kernel_chains_create(struct kept_store *kept)
{
	struct kernel_chains *chains = calloc(1, sizeof(*chains));
	if (!chains)
		return NULL;
	chains->kept = kept;
	if (rf_array_push(chains->chains, chains->n_chains, chains->cap_chains, (struct chain){0}))
		return chains;
	free(chains);
	return NULL;
}

void kernel_chains_destroy(struct kernel_chains *chains)
{
	if (!chains)
		return;
	kernel_symbols_destroy(chains->symbols);
	u64_map_deinit(&chains->of_hash);
	free(chains->chains);
	free(chains->addresses);
	free(chains);
}

/* Without the marks of the kind of what follows; returns how many. */
static size_t clean(const uint64_t *chain, size_t n, uint64_t *out)
{
	size_t kept = 0;
	for (size_t i = 0; i < n; i++) {
		uint64_t address;
		memcpy(&address, &chain[i], sizeof(address));
		if (address >= (uint64_t)PERF_CONTEXT_MAX)
			continue;
		if (kept == MOST) { /* the outer ones move up */
			memmove(out + INNER, out + INNER + 1, (OUTER - 1) * sizeof(*out));
			kept--;
		}
		out[kept++] = address;
	}
	return kept;
}

static uint64_t hash_of(const uint64_t *chain, size_t n)
{
	uint64_t hash = 0;
	for (size_t i = 0; i < n; i++) {
		/* The finaliser of splitmix64 (Steele, Lea, Flood 2014), chained. */
		hash = (hash ^ chain[i]) * 0xbf58476d1ce4e5b9u;
		hash ^= hash >> 29;
	}
	return hash ? hash : 1;
}

static bool add_addresses(struct kernel_chains *chains, const uint64_t *addresses, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!rf_array_push(chains->addresses, chains->n_addresses, chains->cap_addresses,
				   addresses[i]))
			return false;
	return true;
}

uint32_t kernel_chains_add(struct kernel_chains *chains, const uint64_t *chain, size_t n)
{
	uint64_t addresses[MOST];
	n = clean(chain, n, addresses);
	if (!n)
		return 1;
	const uint64_t hash = hash_of(addresses, n);
	const uint32_t *known = u64_map_find(&chains->of_hash, hash);
	if (known)
		return *known;
	const struct chain fresh = {(uint32_t)chains->n_addresses, (uint32_t)n};
	const uint32_t number = (uint32_t)chains->n_chains + 1;
	if (chains->n_addresses > UINT32_MAX - MOST || !add_addresses(chains, addresses, n) ||
	    !rf_array_push(chains->chains, chains->n_chains, chains->cap_chains, fresh) ||
	    !u64_map_set(&chains->of_hash, hash, number))
		return 1;
	return number;
}

struct kernel_place kernel_chains_place(struct kernel_chains *chains, uint32_t number, bool in_call)
{
	if (!chains->symbols)
		chains->symbols = kernel_symbols_create(chains->kept);
	if (!chains->symbols || !number || number > chains->n_chains)
		return (struct kernel_place){in_call ? KERNEL_CALL : KERNEL_OTHER, WAIT_OTHER};
	const struct chain *chain = &chains->chains[number - 1];
	return kernel_symbols_place(chains->symbols, chains->addresses + chain->first, chain->n,
				    in_call);
}
