/* What is kept are the stamps of all places where debug files are looked for, and the facts as
 * bytes of this machine. */
#include "names/kept_names.h"

#include <stdlib.h>
#include <string.h>

struct cursor {
	const char *at, *end;
};

static bool take(void *context, void *to, size_t size)
{
	struct cursor *cursor = context;
	if ((size_t)(cursor->end - cursor->at) < size)
		return false;
	memcpy(to, cursor->at, size);
	cursor->at += size;
	return true;
}

static bool places_are_same(const struct name_facts *facts, const char *stamps)
{
	for (size_t i = 0; i < facts->n_places; i++) {
		const char *path = name_facts_text(facts, facts->places[i].path);
		const struct file_stamp now = file_stamp_of_path(path);
		if (memcmp(&now, stamps + i * sizeof(now), sizeof(now)) != 0)
			return false;
	}
	return true;
}

/* ---- reading ---- */

enum { HOLDS, IS_OLD, IS_BROKEN };

static int parse(struct cursor cursor, struct name_facts *facts)
{
	const struct fact_source source = {take, &cursor};
	uint64_t n_places;
	if (!take(&cursor, &n_places, sizeof(n_places)))
		return IS_BROKEN;
	const char *stamps = cursor.at;
	if ((uint64_t)(cursor.end - stamps) / sizeof(struct file_stamp) < n_places)
		return IS_BROKEN;
	cursor.at += n_places * sizeof(struct file_stamp);
	if (!name_facts_read(&source, facts) || facts->n_places != n_places)
		return IS_BROKEN;
	return places_are_same(facts, stamps) ? HOLDS : IS_OLD;
}

bool kept_names_load(struct kept_store *store, const struct kept_key *key, struct name_facts *facts)
{
	struct kept_bytes kept;
	if (!kept_store_load(store, key, &kept))
		return false;
	const int state = parse((struct cursor){kept.bytes, kept.bytes + kept.size}, facts);
	if (state == IS_BROKEN)
		kept_store_is_broken(store, key);
	if (state != HOLDS)
		name_facts_deinit(facts);
	kept_bytes_release(&kept);
	return state == HOLDS;
}

/* ---- writing ---- */

/* The stamps of the places; NULL: memory is short, or they changed meanwhile or a moment ago. */
static struct file_stamp *stamp_places(const struct name_facts *facts)
{
	struct file_stamp *stamps = calloc(facts->n_places + 1, sizeof(*stamps));
	for (size_t i = 0; stamps && i < facts->n_places; i++) {
		const struct fact_place *candidate = &facts->places[i];
		stamps[i] = file_stamp_of_path(name_facts_text(facts, candidate->path));
		if (!file_stamp_is_settled(&stamps[i]) || (candidate->used && !stamps[i].inode)) {
			free(stamps);
			return NULL;
		}
	}
	return stamps;
}

/* NULL: memory is short. */
static char *compose(const struct name_facts *facts, const struct file_stamp *stamps, size_t *size)
{
	const uint64_t n_places = facts->n_places;
	char *bytes = NULL;
	FILE *stream = open_memstream(&bytes, size);
	if (!stream)
		return NULL;
	fwrite(&n_places, sizeof(n_places), 1, stream);
	fwrite(stamps, sizeof(*stamps), facts->n_places, stream);
	name_facts_write(facts, stream);
	const bool failed = ferror(stream);
	if (fclose(stream) == 0 && !failed)
		return bytes;
	free(bytes);
	return NULL;
}

void kept_names_save(struct kept_store *store, const struct kept_key *key,
		     const struct name_facts *facts)
{
	if (!facts->is_lasting || !file_stamp_is_settled(&key->stamp))
		return;
	struct file_stamp *stamps = stamp_places(facts);
	size_t size = 0;
	char *bytes = stamps ? compose(facts, stamps, &size) : NULL;
	if (bytes)
		kept_store_save(store, key, bytes, size);
	free(bytes);
	free(stamps);
}
