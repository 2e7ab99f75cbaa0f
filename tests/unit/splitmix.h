/* Random numbers that are the same in every run (Steele, Lea and Flood 2014: splitmix64). */
#pragma once

#include <stdint.h>

static inline uint64_t random_number(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}
