/* Fuzz target: work_of_bytes on arbitrary bytes.  Nothing is read beyond them, and whatever
 * decodes has work that makes sense.  Built with -fsanitize=fuzzer, or as a plain program with
 * replay.c over a folder of inputs. */
#include "insn/work.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
	if (!condition)
		abort();
}

static unsigned int bits_of_width(uint8_t width)
{
	static const unsigned int bits[FLOP_WIDTHS] = {80, 128, 256, 512, 16 * 16 * 512};
	return bits[width];
}

static void check_operations(const struct work *work)
{
	static const unsigned int precision_bits[FLOP_PRECISIONS] = {16, 16, 32, 64, 80};
	require(work->flop_kind < FLOP_KINDS && work->flop_precision < FLOP_PRECISIONS);
	require(work->intop_kind < INTOP_KINDS && work->insn_class < INSN_CLASSES);
	require(work->flop_width < FLOP_WIDTHS && work->intop_width < FLOP_WIDTHS);
	require(!work->flop_lanes || work->flop_per_lane);
	require(!work->intop_lanes || work->intop_per_lane);
	require(work->flop_lanes * precision_bits[work->flop_precision] <=
		bits_of_width(work->flop_width));
	require(work->intop_lanes * 8U <= bits_of_width(work->intop_width));
}

static void check_memory(const struct work *work)
{
	/* The largest areas are fxsave's 512 bytes. */
	require(work->load_bytes <= 512 && work->store_bytes <= 512);
	require(work->unit_load_bytes <= 16 && work->unit_store_bytes <= 16);
	require(work->is_load || !(work->load_bytes || work->unit_load_bytes));
	require(work->is_store || !(work->store_bytes || work->unit_store_bytes));
}

static void check_units(const struct work *work)
{
	if (work->units == UNITS_NONE) {
		require(!work->masked && !work->unit_load_bytes && !work->unit_store_bytes);
		return;
	}
	if (work->units == UNITS_KMASK)
		require(work->unit_reg >= 1 && work->unit_reg <= 7);
	if (work->units == UNITS_VMASK)
		require(work->unit_reg < 16 && work->unit_element_bits >= 8);
	if (work->units == UNITS_TILE)
		require(work->unit_reg < 8 && work->unit_reg2 < 8);
	else
		require(work->lanes >= 1 && work->lanes <= 64);
}

static size_t check_one(const uint8_t *bytes, size_t size)
{
	struct work work;
	if (!work_of_bytes(bytes, size, &work)) {
		require(work.length == 0 && work.flop_lanes == 0 && work.load_bytes == 0);
		return 1;
	}
	require(work.length >= 1 && work.length <= 15 && work.length <= size);
	check_operations(&work);
	check_memory(&work);
	check_units(&work);
	return work.length;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* A copy of exactly this size, so that the sanitizer sees each byte read beyond it. */
	uint8_t *bytes = malloc(size ? size : 1);
	if (!bytes)
		return 0;
	if (size)
		memcpy(bytes, data, size);
	for (size_t at = 0; at < size;)
		at += check_one(bytes + at, size - at);
	free(bytes);
	return 0;
}
