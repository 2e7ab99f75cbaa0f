/* The peak bandwidth of the memory devices, by the tables that the firmware leaves (SMBIOS). */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dmi_memory {
	double gbs;       /* 1e9 bytes/s: sum over channels of transfers × data width / 8 */
	int devices;      /* memory modules, or soldered devices */
	int channels;     /* that have one */
	unsigned mts;     /* 1e6 transfers/s; the lowest where they differ */
	bool upper_bound; /* which devices share a channel is not told, so that each counts as one
			   * of its own; or only the highest speed is told, not the one in use */
};

/* Reads a file of raw SMBIOS structures; NULL: /sys/firmware/dmi/tables/DMI, which only root may
 * read.  RF_EUNAVAILABLE: no file, no right to read it, or (in virtual machines) it does not tell
 * the devices' speed or width.  RF_EFORMAT: it is damaged.  *memory is then not touched. */
struct rf_error *dmi_memory_read(const char *path, struct dmi_memory *memory);

/* The same of `size` bytes. */
struct rf_error *dmi_memory_parse(const uint8_t *bytes, size_t size, struct dmi_memory *memory);
