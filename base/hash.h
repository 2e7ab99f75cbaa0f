/* Hashes of bytes: to find equal ones, and to notice damage; nothing here keeps an attacker off. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* 64 bits, never 0 (u64_map.h has no key 0).  FNV-1a's step by words of 8 bytes, then mixed so that
 * the upper bits of a word reach the lower ones of the hash. */
static inline uint64_t rf_hash(const void *bytes, size_t size)
{
	const char *at = (const char *)bytes;
	uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ size, word;
	for (; size >= sizeof(word); at += sizeof(word), size -= sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
		hash ^= hash >> 32;
	}
	word = 0;
	memcpy(&word, at, size);
	hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
	hash ^= hash >> 29;
	return hash ? hash : 1;
}
