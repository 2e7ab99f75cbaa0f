/* Processes for tests of code that is kept: their modules are copies of the C library's code, and
 * what they ask for is drawn by chance. */
#pragma once

#include "tracer/translate/translate.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MODULES 2
#define CELLS 0x10000 /* of the tables of returns: modules that move by more have the same */
/* The number of the first module; addresses that are in none have that behind the last one's. */
#define FIRST_MODULE 7

struct process {
	struct translator translator;
	uint64_t modules[MODULES]; /* their addresses */
	uint8_t *memory[MODULES];  /* an arena for each */
};

/* What all processes of a round have. */
struct setting {
	uint64_t classes; /* that are traced; 0: nothing is */
	bool loop_is_slow;
	size_t batch_insns;
	bool is_far; /* arenas are out of reach of the code */
};

/* Where the modules and arenas of a process are. */
struct places {
	uint64_t modules[MODULES], arenas[MODULES];
};

struct request {
	unsigned kind, module;
	uint64_t offset, number;
};

/* Comes before all else; the same seed gives the same numbers. */
void random_begin(uint64_t seed);
uint64_t random_next(void);
/* Bytes of a module. */
size_t code_size(void);

/* Modules lie by multiples of `step` from where their code is in the test. */
struct places random_places(const struct setting *setting, uint64_t step);
void open_process(struct process *process, const struct places *places,
		  const struct setting *setting);
void close_process(struct process *process);
/* The module of an address, and *offset in it; MODULES: none. */
unsigned module_of(const struct process *process, uint64_t pc, uint64_t *offset);

struct request random_request(void);
/* Returns what it is answered. */
uint64_t ask(struct process *process, const struct request *request);
