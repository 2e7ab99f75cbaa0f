/* Numbers in groups of 7 bits, low ones first, all but the last with the top bit set (DWARF 5,
 * section 7.6). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define LEB128_MOST 10 /* bytes of 64 bits */

/* Writes a number; returns the place behind it. */
static inline uint8_t *leb128_put(uint8_t *to, uint64_t value)
{
	for (; value > 0x7f; value >>= 7)
		*to++ = (uint8_t)(value & 0x7f) | 0x80;
	*to++ = (uint8_t)value;
	return to;
}

/* Reads the number at *at, which moves behind it; 0 behind the end. */
static inline uint64_t leb128_get(const uint8_t *bytes, size_t size, size_t *at)
{
	uint64_t value = 0;
	for (unsigned shift = 0; *at < size; shift += 7) {
		const uint8_t byte = bytes[(*at)++];
		value |= shift < 64 ? (uint64_t)(byte & 0x7f) << shift : 0;
		if (!(byte & 0x80))
			break;
	}
	return value;
}
