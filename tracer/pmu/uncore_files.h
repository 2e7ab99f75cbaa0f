/* The small text files of sysfs that describe PMUs. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "0,4-6" → 0, 4, 5, 6 (allocated).  False on anything else, on numbers above 65535, and when
 * memory is short. */
bool uncore_cpu_list(const char *text, int **cpus, size_t *n);
/* The bits of `value`, from the lowest on, at the places that a format names: "config:0-7,32" into
 * configs[0], "config1:…" and "config2:…" into the next.  False: no such format, or the value needs
 * more bits than it names. */
bool uncore_place_bits(const char *format, uint64_t value, uint64_t configs[3]);
/* "event=0x04,umask=0x03" by the files in `directory`/format; a term without value is 1, and
 * config=… needs no file. */
bool uncore_event_terms(const char *directory, const char *text, uint64_t configs[3]);
/* "MiB" and the like; "Bytes" and "" are 1; 0: unknown. */
double uncore_unit_bytes(const char *unit);
