/* Raw samples in memory, with equal chunks of their stacks stored once. */
#include "tracer/timed/sample_store.h"

#include "base/array.h"
#include "base/u64_map.h"

#include <string.h>

enum { CHUNK_SIZE = 256 };

struct chunk {
	uint8_t bytes[CHUNK_SIZE];
};

struct sample_store {
	struct raw_sample *samples;
	size_t n_samples, cap_samples;
	uint32_t *references; /* chunk numbers, a run of them for each sample */
	size_t n_references, cap_references;
	struct chunk *chunks;
	size_t n_chunks, cap_chunks;
	struct u64_map numbers; /* of chunks, by their hashes; of two with the same one the later */
};

struct sample_store *sample_store_create(void)
{
	return calloc(1, sizeof(struct sample_store));
}

void sample_store_destroy(struct sample_store *store)
{
	if (!store)
		return;
	free(store->samples);
	free(store->references);
	free(store->chunks);
	u64_map_deinit(&store->numbers);
	free(store);
}

static uint64_t chunk_hash(const struct chunk *chunk)
{
	uint64_t hash = 0, word;
	for (size_t i = 0; i < CHUNK_SIZE; i += sizeof(word)) {
		memcpy(&word, chunk->bytes + i, sizeof(word));
		/* The finaliser of splitmix64 (Steele, Lea, Flood 2014), chained. */
		hash = (hash ^ word) * 0xbf58476d1ce4e5b9u;
		hash ^= hash >> 29;
	}
	return hash ? hash : 1; /* a map has no key 0 */
}

/* The number of this content, added when it is new; UINT32_MAX when memory is short. */
static uint32_t chunk_number(struct sample_store *store, const struct chunk *chunk)
{
	const uint64_t hash = chunk_hash(chunk);
	const uint32_t *known = u64_map_find(&store->numbers, hash);
	if (known && memcmp(&store->chunks[*known], chunk, CHUNK_SIZE) == 0)
		return *known;
	const uint32_t number = (uint32_t)store->n_chunks;
	if (store->n_chunks >= UINT32_MAX - 1 ||
	    !rf_array_push(store->chunks, store->n_chunks, store->cap_chunks, *chunk) ||
	    !u64_map_set(&store->numbers, hash, number))
		return UINT32_MAX;
	return number;
}

/* The bytes of a stack from `done` on that lie in one chunk, and where in it. */
static size_t part_of(const struct raw_sample *sample, size_t done, size_t *skip)
{
	*skip = (sample->regs.sp + done) % CHUNK_SIZE;
	const size_t room = CHUNK_SIZE - *skip, left = sample->stack_size - done;
	return room < left ? room : left;
}

uint32_t sample_store_add(struct sample_store *store, const struct raw_sample *sample,
			  const uint8_t *stack)
{
	struct raw_sample kept = *sample;
	kept.first_chunk = (uint32_t)store->n_references;
	if (store->n_samples >= UINT32_MAX || store->n_references > UINT32_MAX - 512)
		return UINT32_MAX;
	for (size_t done = 0; done < sample->stack_size;) {
		struct chunk chunk = {0};
		size_t skip, part = part_of(sample, done, &skip);
		memcpy(chunk.bytes + skip, stack + done, part);
		uint32_t number = chunk_number(store, &chunk);
		if (number == UINT32_MAX || !rf_array_push(store->references, store->n_references,
							   store->cap_references, number))
			return UINT32_MAX;
		done += part;
	}
	if (!rf_array_push(store->samples, store->n_samples, store->cap_samples, kept))
		return UINT32_MAX;
	return (uint32_t)store->n_samples - 1;
}

void sample_store_get(const struct sample_store *store, uint32_t number, struct raw_sample *sample,
		      uint8_t *stack)
{
	*sample = store->samples[number];
	size_t reference = sample->first_chunk;
	for (size_t done = 0; done < sample->stack_size; reference++) {
		size_t skip, part = part_of(sample, done, &skip);
		memcpy(stack + done, store->chunks[store->references[reference]].bytes + skip,
		       part);
		done += part;
	}
}

size_t sample_store_size(const struct sample_store *store)
{
	return store->cap_samples * sizeof(*store->samples) +
	       store->cap_references * sizeof(*store->references) +
	       store->cap_chunks * sizeof(*store->chunks) +
	       store->numbers.n_cells * (sizeof(*store->numbers.cells) + 1);
}
