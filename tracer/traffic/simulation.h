/* What all processes of a run share: the simulated caches, and all that is counted of their
 * traffic.
 *
 * There is one way in, simulation_access: an access of a core to one line, which goes through the
 * core's filter into the hierarchy and to the use of lines.  What then crosses a border of the
 * hierarchy is counted for accounts, working sets and data objects. One thread at a time. */
#pragma once

#include "base/assert.h"
#include "cache/conflicts.h"
#include "cache/hierarchy.h"
#include "cache/other_caches.h"
#include "cache/tlb.h"
#include "cache/working_set.h"
#include "insn/operands.h"
#include "tracer/objects/allocator_calls.h"
#include "tracer/objects/object_world.h"
#include "tracer/objects/objects.h"
#include "tracer/stores/store_pairs.h"
#include "tracer/traffic/access_filter.h"
#include "tracer/traffic/accounts.h"
#include "tracer/traffic/class_stages.h"
#include "tracer/traffic/concentration.h"
#include "tracer/traffic/line_sample.h"
#include "tracer/traffic/sharing.h"
#include "tracer/traffic/strides.h"

#include <stdbool.h>
#include <stdint.h>

_Static_assert(OPERAND_LOAD == 1 << CACHE_LOAD && OPERAND_STORE == 1 << CACHE_STORE &&
		       OPERAND_NON_TEMPORAL == 1 << CACHE_NON_TEMPORAL &&
		       OPERAND_FLUSH == 1 << CACHE_FLUSH && OPERAND_CLEAN == 1 << CACHE_CLEAN &&
		       OPERAND_LINE_ZERO == 1 << CACHE_LINE_ZERO,
	       "bits of enum operand_access are kinds of enum cache_access");

/* Of a line's number the bits from this one on tell the address space (cache/hierarchy.h). */
#define SPACE_SHIFT 51

/* One access of an instruction to one line, or all that a record of several operands does to it. */
struct access {
	struct access_filter *filter; /* of the core */
	uint64_t address;             /* of its first byte in the line */
	uint64_t line;                /* number, with that of the address space */
	uint32_t who;                 /* account */
	uint8_t kinds;                /* bits of enum operand_access; done in their order */
	uint8_t first, n;             /* bytes of the line */
	uint64_t touched;             /* bytes loaded or stored, the later accesses' too */
	/* What follows to the same line at once, or NULL. */
	const struct filter_rest *later;
};

/* One address space. */
struct space {
	struct object_world *world;
	struct objects *objects;      /* NULL: not asked */
	struct allocator_calls calls; /* of these objects */
	uint32_t *rows;               /* at the end: of objects, in the profile */
	size_t n_rows;
};

struct simulation {
	struct geometry geometry;
	struct class_stages stages;
	struct line_sample full; /* lines of which a thread's accesses are all recorded */
	bool by_line;            /* no line that misses brings another one in */
	struct hierarchy *hierarchy;
	struct other_caches *other; /* what moves there is counted, too; or NULL */
	struct accounts *accounts;
	struct strides *strides;
	struct store_pairs *store_pairs;
	struct concentration *concentration;
	uint64_t n_bursts; /* of all threads */
	/* Where code is checked in windows of time; else NULL. */
	struct first_touches *first_touches;
	uint64_t window;    /* number of the last one that began behind a gap */
	struct touch touch; /* of the access that has missed the first level last, to touch_line */
	uint64_t touch_line;
	struct conflicts *conflicts;
	struct sharing *sharing;
	struct working_set *working_set;
	uint32_t tlb_pages[2];    /* of each thread's TLB; 0: there is none */
	struct tlb_counts *walks; /* by account */
	size_t n_walks;
	bool walks_lost;         /* memory was short */
	struct kept_store *kept; /* what was read of files, or NULL */
	struct space *spaces;
	size_t n_spaces, cap_spaces;
	struct access_filter *running; /* of the core that accessed something last; or NULL */
	uint64_t at_line, at_address;  /* of the access that was taken last */
	/* Accesses are those of the future: they move lines, but nothing of that is counted. */
	bool looks_ahead;
};

/* Errors: memory is short; simulation_deinit frees what there is in that case, too. */
struct rf_error *simulation_init(struct simulation *simulation, const struct geometry *geometry,
				 const struct traffic_options *options);
void simulation_deinit(struct simulation *simulation);

/* A number for an address space.  `world`: what the system shows of it, owned by the simulation
 * from now on, also on errors; NULL: its objects are not asked.  Errors: memory is short. */
struct rf_error *simulation_add_space(struct simulation *simulation, struct object_world *world,
				      uint32_t *number);
/* The space of that number, or NULL where its objects are not asked. */
struct space *simulation_space(const struct simulation *simulation, uint32_t number);

/* Where an address of a space lies now (sharing_locate); `context`: the simulation. */
struct data_place simulation_place(void *context, uint32_t number, uint64_t address);

/* A burst has ended: whether classes have been added to those that are simulated. */
bool simulation_add_classes(struct simulation *simulation);

/* Accesses are recorded again, in the window of that number, after a time in which none were: the
 * caches hold what they held before, and what that means is told apart (cache/first_touches.h). */
void simulation_gap(struct simulation *simulation, uint64_t window);

/* Empties all caches, of all cores.  What is changed in them counts as left there
 * (TRAFFIC_MEM_LEFT), and what comes later finds nothing: it comes for the first time, and is
 * neither a conflict nor one of capacity. */
void simulation_empty(struct simulation *simulation);

/* Empties all caches as simulation_empty does.  The accesses that follow are those of the future:
 * the caches get what they use, and nothing is counted. */
void simulation_look_ahead(struct simulation *simulation);
/* Accesses are those of the present again: the caches keep what they have, and nothing of it is
 * changed. */
void simulation_look_back(struct simulation *simulation);

/* The core of that filter goes on, or, when NULL, none: what another one has put off is done. */
void simulation_run(struct simulation *simulation, struct access_filter *filter);

/* The same access in the caches of another machine. */
void simulation_access_other(struct simulation *simulation, const struct access *access);
/* An access of an account to a page, of which its thread's TLB has said what it found. */
void simulation_page(struct simulation *simulation, uint32_t who, enum tlb_found found);

/* The core that runs accesses a line of a class that is simulated now. */
static inline void simulation_access(struct simulation *simulation, const struct access *access)
{
	assert(class_stages_now(&simulation->stages) >> access->line % CACHE_CLASSES & 1);
	rf_assert_dear(access->kinds && access->n && access->first + access->n <= CACHE_LINE);
	rf_assert_dear(access->filter == simulation->running);
	rf_assert_dear(access->address / CACHE_LINE ==
		       (access->line & ((1ull << SPACE_SHIFT) - 1)));
	if (__builtin_expect(simulation->other != NULL, 0))
		simulation_access_other(simulation, access);
	simulation->at_line = access->line;
	simulation->at_address = access->address;
	access_filter_access(access->filter, access->line,
			     (enum cache_access)__builtin_ctz(access->kinds), access->first,
			     access->n, access->who);
	for (unsigned rest = access->kinds & (access->kinds - 1); __builtin_expect(rest, 0);
	     rest &= rest - 1)
		access_filter_access(access->filter, access->line,
				     (enum cache_access)__builtin_ctz(rest), access->first,
				     access->n, access->who);
	if (access->later)
		access_filter_rest(access->filter, access->line, access->later);
	if (access->touched && !simulation->looks_ahead)
		strides_touched(simulation->strides, access->line, access->touched);
}
