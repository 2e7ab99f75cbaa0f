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

static long double get_integer(const void *at, size_t bytes)
{
	uint64_t bits = 0;
	memcpy(&bits, at, bytes);
	int unused = 64 - 8 * bytes;
	return (int64_t)(bits << unused) >> unused;
}

long double element_get(enum element element, const void *at)
{
	uint16_t small;
	float single;
	double dbl;
	long double extended = 0;
	switch (element) {
	case ELEMENT_HALF:
	case ELEMENT_BFLOAT16:
		memcpy(&small, at, sizeof(small));
		return small_get(element == ELEMENT_HALF ? half_format : bfloat16_format, small);
	case ELEMENT_SINGLE:
		memcpy(&single, at, sizeof(single));
		return single;
	case ELEMENT_DOUBLE:
		memcpy(&dbl, at, sizeof(dbl));
		return dbl;
	case ELEMENT_X87:
		memcpy(&extended, at, 10);
		return extended;
	default:
		return get_integer(at, element_bytes(element));
	}
}

void element_set(enum element element, void *at, long double value)
{
	uint16_t small;
	float single = value;
	double dbl = value;
	int64_t integer;
	switch (element) {
	case ELEMENT_HALF:
	case ELEMENT_BFLOAT16:
		small = small_bits(element == ELEMENT_HALF ? half_format : bfloat16_format, value);
		memcpy(at, &small, sizeof(small));
		break;
	case ELEMENT_SINGLE:
		memcpy(at, &single, sizeof(single));
		break;
	case ELEMENT_DOUBLE:
		memcpy(at, &dbl, sizeof(dbl));
		break;
	case ELEMENT_X87:
		memcpy(at, &value, 10);
		break;
	default:
		integer = value;
		memcpy(at, &integer, element_bytes(element));
	}
}
