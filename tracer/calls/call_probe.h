/* Labels of call_probe.S, which says what lies there. */
#pragma once

#include <stdint.h>

void call_probe(void (*function)(void *argument), void *argument);
extern const uint8_t call_probe_return[];
void call_probe_loop(uint64_t turns);
extern const uint8_t call_probe_beside[];
