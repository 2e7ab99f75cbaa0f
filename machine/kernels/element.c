/* Lanes of registers as numbers: also of the formats that C has no type for. */
#include "machine/kernels/element.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

size_t element_bytes(enum element element)
{
	static const size_t bytes[] = {
		[ELEMENT_HALF] = 2,   [ELEMENT_BFLOAT16] = 2, [ELEMENT_SINGLE] = 4,
		[ELEMENT_DOUBLE] = 8, [ELEMENT_X87] = 16,     [ELEMENT_INT8] = 1,
		[ELEMENT_INT32] = 4,  [ELEMENT_INT64] = 8,
	};
	return bytes[element];
}

/* A binary interchange format of at most 16 bits, IEEE 754-2008, 3.4. */
struct small_format {
	int fraction_bits, max_exponent;
};
static const struct small_format half_format = {10, 15}, bfloat16_format = {7, 127};

static long double small_get(struct small_format format, uint16_t bits)
{
	int magnitude = bits & 0x7fff, implicit = 1 << format.fraction_bits;
	int exponent = magnitude >> format.fraction_bits, fraction = magnitude & (implicit - 1);
	long double value;
	if (exponent == 2 * format.max_exponent + 1)
		value = fraction ? NAN : INFINITY;
	else if (exponent)
		value = ldexpl(implicit + fraction,
			       exponent - format.max_exponent - format.fraction_bits);
	else
		value = ldexpl(fraction, 1 - format.max_exponent - format.fraction_bits);
	return bits & 0x8000 ? -value : value;
}

static uint16_t small_bits(struct small_format format, long double value)
{
	int infinity = (2 * format.max_exponent + 1) << format.fraction_bits, exponent;
	int sign = signbit(value) ? 0x8000 : 0;
	if (isnan(value))
		return sign | infinity | 1 << (format.fraction_bits - 1);
	if (isinf(value))
		return sign | infinity;
	frexpl(value, &exponent); /* |value| in [2^(exponent-1), 2^exponent) */
	if (value == 0 || exponent < 2 - format.max_exponent)
		exponent = 2 - format.max_exponent; /* subnormals share the last exponent */
	/* In units of the last place; the carry of a rounded-up fraction runs into the exponent. */
	long units = lrintl(ldexpl(fabsl(value), format.fraction_bits + 1 - exponent));
	long long bits =
		units + ((long long)(exponent - 2 + format.max_exponent) << format.fraction_bits);
	return sign | (bits < infinity ? bits : infinity);
}

/* A lane, by its first bytes. */
union lane {
	int64_t integer;
	uint16_t small;
	float single;
	double dbl;
	long double extended;
};

/* Bytes of an element that hold its value. */
static size_t value_bytes(enum element element)
{
	return element == ELEMENT_X87 ? 10 : element_bytes(element);
}

long double element_get(enum element element, const void *at)
{
	union lane lane;
	memset(&lane, 0, sizeof(lane));
	memcpy(&lane, at, value_bytes(element));
	switch (element) {
	case ELEMENT_HALF:
		return small_get(half_format, lane.small);
	case ELEMENT_BFLOAT16:
		return small_get(bfloat16_format, lane.small);
	case ELEMENT_SINGLE:
		return lane.single;
	case ELEMENT_DOUBLE:
		return lane.dbl;
	case ELEMENT_X87:
		return lane.extended;
	case ELEMENT_INT8:
		return (int8_t)lane.integer;
	case ELEMENT_INT32:
		return (int32_t)lane.integer;
	default:
		return lane.integer;
	}
}

void element_set(enum element element, void *at, long double value)
{
	union lane lane;
	if (element == ELEMENT_HALF)
		lane.small = small_bits(half_format, value);
	else if (element == ELEMENT_BFLOAT16)
		lane.small = small_bits(bfloat16_format, value);
	else if (element == ELEMENT_SINGLE)
		lane.single = value;
	else if (element == ELEMENT_DOUBLE)
		lane.dbl = value;
	else if (element == ELEMENT_X87)
		lane.extended = value;
	else
		lane.integer = value;
	memcpy(at, &lane, value_bytes(element));
}
