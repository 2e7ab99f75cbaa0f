/* Numbers as they lie in the lanes of a register. */
#pragma once

#include <stddef.h>

enum element {
	ELEMENT_HALF,     /* IEEE 754 binary16 */
	ELEMENT_BFLOAT16, /* the upper half of a single */
	ELEMENT_SINGLE,
	ELEMENT_DOUBLE,
	ELEMENT_X87, /* 10 bytes in a place of 16 */
	ELEMENT_INT8,
	ELEMENT_INT32,
	ELEMENT_INT64,
};

/* Distance of two lanes in bytes. */
size_t element_bytes(enum element element);

/* The exact value; integers are read as signed. */
long double element_get(enum element element, const void *at);

/* Rounds to nearest, ties to even; an integer element takes the value modulo its size, from
 * -2^63 to 2^63 - 1. */
void element_set(enum element element, void *at, long double value);
