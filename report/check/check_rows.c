/* The invariants of a row's work, time, loops and place under the roofs. */
#include "report/check/check_rows.h"

#include <assert.h>
#include <math.h>

/* ---- work ---- */

static double sum_of_flop(const struct tally *tally)
{
	double sum = 0;
	for (int k = 0; k < FLOP_KINDS; k++)
		for (int p = 0; p < FLOP_PRECISIONS; p++)
			for (int w = 0; w < FLOP_WIDTHS; w++)
				sum += (double)tally->flop_by_kind[k][p][w];
	return sum;
}

static void check_tally(struct check *check, const struct tally *tally)
{
	const double all = (double)tally->instructions;
	double of_class = 0;
	for (int c = 0; c < INSN_CLASSES; c++)
		of_class += (double)tally->class_instructions[c];
	if (of_class > 0) /* not all sources of work, and not all rows, have them */
		check_equal(check, INVARIANT_CLASSES, "instructions", of_class, all);
	check_part(check, INVARIANT_LOADS, "loads", (double)tally->loads, all);
	check_part(check, INVARIANT_LOADS, "stores", (double)tally->stores, all);
	check_part(check, INVARIANT_BYTES_OF_KINDS, "bytes of non-temporal stores",
		   (double)tally->nt_store_bytes, (double)tally->store_bytes);
	check_part(check, INVARIANT_BYTES_OF_KINDS, "bytes of repeated string instructions",
		   (double)tally->string_bytes,
		   (double)tally->load_bytes + (double)tally->store_bytes);
}

static void check_threads(struct check *check, const struct model_function *f)
{
	struct profile_sum_thread sum = {0};
	for (size_t i = 0; i < f->n_threads; i++) {
		sum.flop += f->threads[i].flop;
		sum.load_bytes += f->threads[i].load_bytes;
		sum.store_bytes += f->threads[i].store_bytes;
		sum.instructions += f->threads[i].instructions;
	}
	if (!f->n_threads)
		return;
#define CHECK_THREADS(name)                                                                      \
	check_equal(check, INVARIANT_WORK_OF_THREADS, #name " of the threads", (double)sum.name, \
		    (double)f->tally.name);
	CHECK_THREADS(flop)
	CHECK_THREADS(load_bytes)
	CHECK_THREADS(store_bytes)
	CHECK_THREADS(instructions)
#undef CHECK_THREADS
}

void check_row_work(struct check *check, const struct model_function *f)
{
	const struct tally *tally = &f->tally;
	check_equal(check, INVARIANT_FLOP_KINDS, "flop by kind", sum_of_flop(tally),
		    (double)tally->flop);
	check_part(check, INVARIANT_FLOP_LANES, "flop", (double)tally->flop,
		   (double)tally->flop_unmasked);
	check_range(check, INVARIANT_TIME_SHARE, "share", f->share, 0, 1);
	check_number(check, INVARIANT_TIME_INTERVAL, "half-width in s", f->halfwidth_s);
	if (f->time_ns) {
		check_range(check, INVARIANT_ELAPSED, "concurrency", f->concurrency, 1, INFINITY);
		check_equal(check, INVARIANT_ELAPSED, "elapsed s", f->elapsed_s,
			    (double)f->time_ns * 1e-9 / f->concurrency);
	}
	if (check->sampled) /* of hardware counters: counts are estimates, each by itself */
		return;
	check_tally(check, tally);
	check_threads(check, f);
}

/* ---- loops ---- */

/* What loops side by side have together. */
struct loop_sum {
	double time_ns, samples, instructions, flop, load_bytes, store_bytes;
	double events[N_TRAFFIC];
};

static void add_loop(struct loop_sum *sum, const struct model_loop *loop)
{
	sum->time_ns += (double)loop->time_ns;
	sum->samples += (double)loop->n_samples;
	sum->instructions += (double)loop->tally.instructions;
	sum->flop += (double)loop->tally.flop;
	sum->load_bytes += (double)loop->tally.load_bytes;
	sum->store_bytes += (double)loop->tally.store_bytes;
	for (int e = 0; e < N_TRAFFIC; e++)
		sum->events[e] += loop->bytes->events[e].bytes;
}

static void check_loops_in(struct check *check, const struct loop_sum *sum, uint64_t time_ns,
			   uint64_t n_samples, const struct tally_main *tally,
			   const struct model_bytes *bytes)
{
	check_part(check, INVARIANT_LOOP_TIME, "ns", sum->time_ns, (double)time_ns);
	check_part(check, INVARIANT_LOOP_TIME, "samples", sum->samples, (double)n_samples);
	check_part(check, INVARIANT_LOOP_WORK, "instructions", sum->instructions,
		   (double)tally->instructions);
	check_part(check, INVARIANT_LOOP_WORK, "flop", sum->flop, (double)tally->flop);
	check_part(check, INVARIANT_LOOP_WORK, "bytes loaded", sum->load_bytes,
		   (double)tally->load_bytes);
	check_part(check, INVARIANT_LOOP_WORK, "bytes stored", sum->store_bytes,
		   (double)tally->store_bytes);
	for (int e = 0; bytes && e < N_TRAFFIC; e++)
		check_part(check, INVARIANT_LOOP_BYTES, "bytes of one kind", sum->events[e],
			   bytes->events[e].bytes);
}

void check_row_loops(struct check *check, const struct model_function *f)
{
	const struct model_traffic *traffic = f->traffic;
	const bool traced = traffic && traffic->source == MEMORY_TRACED;
	const struct tally_main tally = model_tally_main(&f->tally);
	size_t next = 0;
	for (size_t around = 0; around <= f->n_loops; around++) {
		const uint32_t parent = around ? (uint32_t)around - 1 : PROFILE_NONE;
		const struct model_loop *in = around ? &f->loops[parent] : NULL;
		struct loop_sum sum = {0};
		for (; next < f->n_loops && f->loops[next].parent == parent; next++)
			add_loop(&sum, &f->loops[next]);
		check->n_rows += around > 0;
		check_loops_in(check, &sum, in ? in->time_ns : f->time_ns,
			       in ? in->n_samples : f->n_samples, in ? &in->tally : &tally,
			       !traced ? NULL
			       : in    ? in->bytes
				       : &traffic->bytes);
	}
	assert(next == f->n_loops);
}

/* ---- place ---- */

void check_row_place(struct check *check, const struct model_function *f)
{
	const struct model_place *place = &f->place;
	if (!(place->roof > 0) || !(place->point > 0))
		return;
	/* Where the roof is within the interval of the point, the point is on it. */
	const double distance = place->roof / place->point;
	check_equal(check, INVARIANT_DISTANCE, "distance", place->distance,
		    place->above ? distance : fmax(1, distance));
	check_range(check, INVARIANT_HEADROOM, "s", place->headroom_s, 0, f->elapsed_s);
	check_equal(check, INVARIANT_HEADROOM, "s", place->headroom_s,
		    f->elapsed_s * fmax(0, 1 - place->point / place->roof));
	check_part(check, INVARIANT_CEILING, "1e9 per second", place->ceiling, place->roof);
	if (place->above || place->late_writes)
		check_part(check, INVARIANT_ABOVE, "distance", distance, 1);
}
