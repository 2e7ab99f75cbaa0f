/* Whose data is at an address: the blocks, mappings, stacks and variables of one address space as
 * they come and go, and the traffic of memory by these objects.
 *
 * Everything is told in the order in which it happened; so an address means what it meant then.
 * What is freed stays what it was until its memory is used again or unmapped: its lines may still
 * be written back.  One thread at a time. */
#pragma once

#include "profile/profile.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Memory that nobody has told about: as the system shows it. */
struct object_region {
	uint64_t start, end;
	enum object_kind kind; /* STATIC, STACK, CODE, MAPPING (of a file, or of nobody known), HEAP
				* (what the allocator has from brk), OTHER */
	uint32_t module;       /* STATIC, CODE, and MAPPING of a file; else PROFILE_NONE */
	uint64_t bias;         /* STATIC: the run-time address minus the address in the file */
	const char *path;      /* STATIC: where the module can be read; used during the call */
};

struct objects_source {
	void *context;
	/* Profile module and offset of a run-time address of code. */
	void (*locate)(void *context, uint64_t pc, uint32_t *module, uint64_t *offset);
	/* What is mapped at an address; false: nothing. */
	bool (*region)(void *context, uint64_t address, struct object_region *region);
};

struct objects;
struct objects *objects_create(const struct objects_source *source);
void objects_destroy(struct objects *objects);
/* The objects of a process that has just been forked: as its parent's, without its traffic.  NULL
 * when memory is short. */
struct objects *objects_fork(const struct objects *objects, const struct objects_source *source);

/* ---- what happens to memory; sizes in bytes ---- */

/* A block of the heap; `call_site` is the address behind the call that allocated it. */
void objects_allocated(struct objects *objects, uint64_t address, uint64_t size,
		       uint64_t call_site);
void objects_freed(struct objects *objects, uint64_t address);
/* Memory mapped by a call that returns to `call_site`; 0: by the allocator for itself. */
void objects_mapped(struct objects *objects, uint64_t address, uint64_t size, uint64_t call_site);
void objects_unmapped(struct objects *objects, uint64_t address, uint64_t size);
/* What is mapped around a thread's stack pointer is a stack. */
void objects_stack(struct objects *objects, uint64_t stack_pointer);

/* ---- calls of allocators, as the code cache records them (tracer/process/allocators.h) ---- */

struct allocator_call {
	uint32_t thread;   /* any small number that the thread has as long as it lives */
	uint32_t function; /* in `allocators` */
	uint64_t return_address, stack_pointer; /* at its first instruction */
	uint64_t arguments[3];                  /* as many as the table says */
};
void objects_enter(struct objects *objects, const struct allocator_call *call);
/* The same thread returns from the call that was entered with that stack pointer. */
void objects_leave(struct objects *objects, uint32_t thread, uint64_t stack_pointer,
		   uint64_t result);
/* The thread is gone. */
void objects_thread_ended(struct objects *objects, uint32_t thread);

/* ---- traffic ---- */

/* One event at the border of memory (TRAFFIC_MEM_…; others are ignored): for `who`, the caller's
 * number of an instruction and thread.  `address`: of the access, or of the line for write-backs.
 */
void objects_note(struct objects *objects, uint64_t address, enum traffic event, uint32_t who);

/* The object's kind at an address, and its profile module, offset and name as they are known before
 * objects_save; for tests and messages. */
struct object_view {
	enum object_kind kind;
	uint32_t module;
	uint64_t offset;
	const char *name;
	uint64_t live, most, n; /* bytes now, bytes at most, allocations */
};
struct object_view objects_at(struct objects *objects, uint64_t address);

/* Calls of allocators whose result was not seen, because the function was left otherwise. */
uint64_t objects_unseen(const struct objects *objects);

/* How the numbers of the caller become rows of the profile. */
struct objects_rows {
	void *context;
	/* The module of the source's number, or PROFILE_NONE for that. */
	uint32_t (*module)(void *context, uint32_t module);
	/* The instruction of a `who`. */
	void (*place)(void *context, uint32_t who, uint32_t *module, uint64_t *offset);
};

/* Adds the objects, with names and places in the source, and their traffic to the profile; rows of
 * the same object, of other processes too, are one: `n` is their sum, `bytes` the most of any. */
void objects_save(struct objects *objects, struct profile *profile,
		  const struct objects_rows *rows);
