/* Labels of call_probe.S, which says what lies there. */
#pragma once

#include <stdint.h>

void call_probe(uint64_t lines, const void *from);
extern const uint8_t call_probe_return[];
