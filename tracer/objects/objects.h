/* Whose data is at an address: the blocks, mappings, stacks and variables of one address space as
 * they come and go, and the traffic of memory by these objects.
 *
 * Everything is told in the order in which it happened; so an address means what it meant then.
 * What is freed stays what it was until its memory is used again or unmapped: its lines may still
 * be written back.  One thread at a time. */
#pragma once

#include "base/kept_store.h"
#include "profile/profile.h"
#include "tracer/objects/interval_map.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Memory that nobody has told about: as the system shows it. */
struct object_region {
	uint64_t start, end;
	/* STATIC, STACK, CODE, MAPPING (of a file, or of nobody known), HEAP (what the allocator
	 * has from brk), OTHER */
	enum object_kind kind;
	uint32_t module;  /* STATIC, CODE, and MAPPING of a file; else PROFILE_NONE */
	uint64_t bias;    /* STATIC: the run-time address minus the address in the file */
	const char *path; /* STATIC: where the module can be read; used during the call */
};

struct objects_source {
	void *context;
	/* Profile module and offset of a run-time address of code. */
	void (*locate)(void *context, uint64_t pc, uint32_t *module, uint64_t *offset);
	/* What is mapped at an address; false: nothing. */
	bool (*region)(void *context, uint64_t address, struct object_region *region);
	struct kept_store *kept; /* what was read of files before; or NULL */
};

struct objects;
/* The objects of an address space of which nothing is known yet.  NULL when memory is short. */
struct objects *objects_create(const struct objects_source *source);
void objects_destroy(struct objects *objects);

/* ---- what happens to memory; sizes in bytes ---- */

/* A block of the heap; `call_site` is the address behind the call that allocated it. */
void objects_allocated(struct objects *objects, uint64_t address, uint64_t size,
		       uint64_t call_site);
/* The live block that begins at an address; returns it as it was, all zero when there is none. */
struct interval objects_freed(struct objects *objects, uint64_t address);
/* A block was not freed after all. */
void objects_not_freed(struct objects *objects, const struct interval *block);
/* Memory mapped by a call that returns to `call_site`; 0: by the allocator for itself. */
void objects_mapped(struct objects *objects, uint64_t address, uint64_t size, uint64_t call_site);
void objects_unmapped(struct objects *objects, uint64_t address, uint64_t size);
/* The number of the object that is mapped at an address; that of the allocator, if none is known.
 */
uint32_t objects_mapping(struct objects *objects, uint64_t address);
/* The mapping of that object, or of the part of it at `old`, is elsewhere now. */
void objects_moved(struct objects *objects, uint32_t object, uint64_t old, uint64_t old_size,
		   uint64_t address, uint64_t size);
/* What is mapped around a thread's stack pointer is a stack. */
void objects_stack(struct objects *objects, uint64_t stack_pointer);

/* ---- traffic ---- */

/* One event at the border of memory (TRAFFIC_MEM_…; others are ignored): for `who`, the caller's
 * number of an instruction and thread.  `address`: of the access, or of the line for write-backs.
 */
void objects_note(struct objects *objects, uint64_t address, enum traffic event, uint32_t who);

/* ---- what is known ---- */

struct object {
	enum object_kind kind;
	uint32_t module;  /* the source's number, or PROFILE_NONE */
	uint64_t offset;  /* of the call site, or of the variable */
	char *name;       /* or NULL */
	const char *file; /* where a variable is declared, borrowed from its module's symbols; or
			     NULL */
	uint32_t line;
	uint64_t live, most, n; /* bytes now, bytes at most, allocations */
	bool is_touched;        /* has traffic, or lines that threads share */
	bool is_wanted;         /* where it is declared is to be known in any case */
	uint32_t statics;       /* of a variable: whose module's symbols */
};

/* Lines of an object that moved for `who`. */
struct object_lines {
	uint32_t object, who;
	uint64_t read, write_allocate, write;
};

/* All objects, and all that moved of them; borrowed until more is told. */
const struct object *objects_all(const struct objects *objects, size_t *n);
const struct object_lines *objects_lines(const struct objects *objects, size_t *n);
/* Where an address is in its object.  False: of that only the whole is known, as of stacks. */
bool objects_place(struct objects *objects, uint64_t address, uint32_t *object, uint64_t *offset);
/* That object is told of, whatever moves of it, with its place in the source. */
void objects_want(struct objects *objects, uint32_t object);
/* For tests: the object at an address. */
const struct object *objects_at(struct objects *objects, uint64_t address);
/* Finds the places in the source where the wanted ones of all objects, if they are variables, are
 * declared; this may read all of a module's DWARF.  Fails only when memory is short. */
struct rf_error *objects_declare(struct objects *objects, const bool *wanted);
/* Notes in the profile which modules' variables could not be read. */
void objects_note_unread(const struct objects *objects, struct profile *profile);
