/* Loads at irregular addresses: one chain, four side by side, a list whose values are summed, chains
 * that begin anew each few steps (a hash table), independent ones (a gather), and one whose pointer
 * is kept in memory. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define KERNEL __attribute__((noinline, noclone))

struct node {
	struct node *next;
	uint64_t value, pad[6];
};

struct entry {
	struct entry *next;
	uint64_t key, value;
};

static uint64_t next_random(void)
{
	static uint64_t x = 88172645463325252;
	x ^= x << 13;
	x ^= x >> 7;
	return x ^= x << 17;
}

static void *memory(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		abort();
	madvise(p, bytes, MADV_HUGEPAGE);
	return p;
}

/* All nodes on one cycle, in random order. */
static struct node *make_cycle(size_t n)
{
	struct node *nodes = memory(n * sizeof(*nodes));
	uint32_t *order = memory(n * sizeof(*order));
	for (size_t i = 0; i < n; i++)
		order[i] = (uint32_t)i;
	for (size_t i = n; i-- > 1;) {
		const size_t other = next_random() % (i + 1);
		const uint32_t swap = order[i];
		order[i] = order[other];
		order[other] = swap;
	}
	for (size_t i = 0; i < n; i++) {
		nodes[order[i]].next = &nodes[order[(i + 1) % n]];
		nodes[order[i]].value = i;
	}
	return nodes;
}

KERNEL struct node *one_chain(struct node *p, long n)
{
	while (n--)
		p = p->next;
	return p;
}

KERNEL uint64_t four_chains(struct node *a, struct node *b, struct node *c, struct node *d, long n)
{
	while (n--)
		a = a->next, b = b->next, c = c->next, d = d->next;
	return a->value + b->value + c->value + d->value;
}

KERNEL uint64_t sum_list(struct node *p, long n)
{
	uint64_t sum = 0;
	while (n--) {
		sum += p->value;
		p = p->next;
	}
	return sum;
}

static struct node *volatile kept;
KERNEL void chain_in_memory(long n)
{
	while (n--)
		kept = kept->next;
}

KERNEL uint64_t gather(const uint64_t *table, const uint32_t *where, long n)
{
	uint64_t sum = 0;
	for (long i = 0; i < n; i++)
		sum += table[where[i]];
	return sum;
}

KERNEL uint64_t look_up(struct entry *const *buckets, uint64_t mask, const uint32_t *keys, long n)
{
	uint64_t sum = 0;
	for (long i = 0; i < n; i++) {
		const struct entry *entry = buckets[keys[i] * 0x9e3779b97f4a7c15 >> 20 & mask];
		while (entry && entry->key != keys[i])
			entry = entry->next;
		sum += entry ? entry->value : 0;
	}
	return sum;
}

KERNEL uint64_t stream(const uint64_t *table, size_t n)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < n; i++)
		sum += table[i];
	return sum;
}

int main(int argc, char **argv)
{
	const long steps = argc > 1 ? atol(argv[1]) : 400000;
	const size_t n = (size_t)1 << 18, n_table = n * 8;
	struct node *nodes = make_cycle(n), *at[4] = {nodes, nodes, nodes, nodes};
	for (size_t i = 0; i < n; i++)
		for (size_t chain = 1; chain < 4; chain++)
			at[chain] = i % 4 < chain ? at[chain]->next : at[chain];
	uint64_t *table = memory(n_table * sizeof(*table)), sum = 0;
	uint32_t *where = memory((size_t)steps * 4 * sizeof(*where)), *keys = where + 2 * steps;
	struct entry *entries = memory(n * sizeof(*entries)), **buckets = memory(n * sizeof(*buckets));
	for (size_t i = 0; i < n_table; i++)
		table[i] = i;
	for (long i = 0; i < 4 * steps; i++)
		where[i] = (uint32_t)(next_random() % (i < 2 * steps ? n_table : n));
	for (size_t i = 0; i < n; i++) {
		struct entry **bucket = &buckets[i * 0x9e3779b97f4a7c15 >> 20 & (n - 1)];
		entries[i] = (struct entry){*bucket, i, i};
		*bucket = &entries[i];
	}
	kept = one_chain(nodes, steps);
	chain_in_memory(steps);
	sum += four_chains(at[0], at[1], at[2], at[3], steps) + sum_list(kept, steps);
	sum += gather(table, where, 2 * steps) + look_up(buckets, n - 1, keys, 2 * steps);
	for (long i = 0; i < steps / 20000; i++) {
		__asm__ volatile("" : : : "memory"); /* each pass anew */
		sum += stream(table, n_table);
	}
	printf("%llu\n", (unsigned long long)sum);
	return 0;
}
