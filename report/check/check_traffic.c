/* The invariants of what a row moves between the levels of the memory hierarchy. */
#include "report/check/check_traffic.h"

#include <math.h>
#include <string.h>

/* ---- bytes ---- */

static void check_estimate(struct check *check, const char *what,
			   const struct model_estimate *estimate, bool known)
{
	check_number(check, INVARIANT_INTERVALS, what, estimate->bytes);
	/* a single class has no spread, and what is sampled by events may have none */
	if (known || !isnan(estimate->stderr_bytes))
		check_number(check, INVARIANT_INTERVALS, "standard error", estimate->stderr_bytes);
	if (known || !isnan(estimate->halfwidth))
		check_number(check, INVARIANT_INTERVALS, "half-width", estimate->halfwidth);
}

static double bytes_of(const struct model_bytes *bytes, enum traffic event)
{
	return bytes->events[event].bytes;
}

void check_bytes(struct check *check, const struct model_bytes *bytes)
{
	const struct model_estimate *mem = bytes->mem;
	const double allocated = bytes_of(bytes, TRAFFIC_MEM_WRITE_ALLOCATE);
	for (int e = 0; e < N_TRAFFIC; e++)
		check_estimate(check, "bytes of one kind", &bytes->events[e], check->spread);
	check_part(check, INVARIANT_CONFLICTS, "bytes",
		   bytes_of(bytes, TRAFFIC_MEM_CONFLICT) +
			   bytes_of(bytes, TRAFFIC_MEM_CONFLICT_UNKNOWN),
		   mem[DIRECTION_BOTH].bytes);
	check_part(check, INVARIANT_EVADABLE, "bytes", bytes_of(bytes, TRAFFIC_MEM_EVADABLE),
		   allocated);
	check_equal(check, INVARIANT_DIRECTIONS, "bytes read from and written to memory",
		    mem[DIRECTION_READ].bytes + mem[DIRECTION_WRITE].bytes,
		    mem[DIRECTION_BOTH].bytes);
}

/* ---- levels ---- */

static void check_level(struct check *check, const struct model_level *level, bool known)
{
	const struct model_estimate *moved = level->moved;
	for (int d = 0; d < TRAFFIC_DIRECTIONS; d++)
		if (!isnan(moved[d].bytes))
			check_estimate(check, level->name, &moved[d], known);
	check_equal(check, INVARIANT_DIRECTIONS, level->name,
		    moved[DIRECTION_READ].bytes + moved[DIRECTION_WRITE].bytes,
		    moved[DIRECTION_BOTH].bytes);
	check_part(check, INVARIANT_DIRECTIONS, "bytes of write-allocates", level->write_allocate,
		   moved[DIRECTION_READ].bytes);
	check_range(check, INVARIANT_MISS_RATIO, level->name, level->misses, 0, 1);
}

/* A line that comes from a level was missed in all above it, for the same instruction; and the
 * change that reaches a level has crossed the borders above it, once at least, for its last writer.
 * Both hold by class of sets, so they hold for a sample.  Only prefetches bring lines in from
 * behind that no level above was asked for. */
static void check_borders(struct check *check, const struct model_traffic *traffic)
{
	const struct model_bytes *bytes = &traffic->bytes;
	const double written[] = {bytes_of(bytes, TRAFFIC_L2_WRITE_BACK),
				  bytes_of(bytes, TRAFFIC_L3_WRITE_BACK),
				  bytes_of(bytes, TRAFFIC_MEM_WRITE_BACK)};
	for (size_t i = 1; !check->prefetch && i + 1 < traffic->n_levels; i++)
		check_part(check, INVARIANT_READS_BY_LEVEL, traffic->levels[i + 1].name,
			   traffic->levels[i + 1].moved[DIRECTION_READ].bytes,
			   traffic->levels[i].moved[DIRECTION_READ].bytes);
	if (model_level(traffic, "L2"))
		check_part(check, INVARIANT_WRITES_BY_LEVEL, "DRAM", written[2], written[0]);
	if (model_level(traffic, "L3")) {
		check_part(check, INVARIANT_WRITES_BY_LEVEL, "L3", written[1], written[0]);
		check_part(check, INVARIANT_WRITES_BY_LEVEL, "DRAM", written[2], written[1]);
	}
}

/* ---- data ---- */

static void check_data(struct check *check, const struct model_traffic *traffic)
{
	const struct model_strides *strides = &traffic->strides;
	double read = 0, write = 0;
	for (size_t i = 0; i < traffic->n_objects; i++) {
		read += traffic->objects[i].read;
		write += traffic->objects[i].write;
	}
	check_part(check, INVARIANT_OBJECTS, "bytes read", read,
		   traffic->bytes.mem[DIRECTION_READ].bytes);
	check_part(check, INVARIANT_OBJECTS, "bytes written", write,
		   traffic->bytes.mem[DIRECTION_WRITE].bytes);
	check_number(check, INVARIANT_STRIDES, "unit steps", strides->unit);
	check_number(check, INVARIANT_STRIDES, "constant steps", strides->constant);
	check_number(check, INVARIANT_STRIDES, "irregular steps", strides->random);
	check_part(check, INVARIANT_STRIDES, "bytes used", strides->used, strides->fetched);
	check_number(check, INVARIANT_WORKING_SET, "bytes with a larger cache",
		     traffic->moves_then);
	check_part(check, INVARIANT_WORKING_SET, "bytes with a larger cache", traffic->moves_then,
		   traffic->moves_now);
}

void check_row_traffic(struct check *check, const struct model_function *f)
{
	const struct model_traffic *traffic = f->traffic;
	if (!traffic)
		return;
	const bool traced = traffic->source == MEMORY_TRACED;
	for (size_t i = 0; i < traffic->n_levels; i++)
		check_level(check, &traffic->levels[i], traced && check->spread);
	if (!traced)
		return;
	check_bytes(check, &traffic->bytes);
	check_range(check, INVARIANT_CONFLICTS, "share", traffic->conflicts.share, 0, 1);
	check_range(check, INVARIANT_CONFLICTS, "half-width", traffic->conflicts.halfwidth, 0, 1);
	check_borders(check, traffic);
	check_data(check, traffic);
}
