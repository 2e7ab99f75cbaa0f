/* A program that runs one instruction after another, under ptrace.  Only its main thread is
 * watched.  Whatever goes wrong ends the whole with a message. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/user.h>

/* Prints it, with errno's meaning, ends the program and exits. */
_Noreturn void stepped_fail(const char *what);

/* Starts the program, without address randomisation and with nothing to write to; its first
 * instruction is next. */
void stepped_start(char *const argv[]);

/* Calls `take` for each function symbol of the program's file that has a size, with its run-time
 * addresses. */
void stepped_symbols(const char *program,
		     void (*take)(const char *name, uint64_t start, uint64_t end));

struct user_regs_struct stepped_registers(void);
void stepped_set_registers(const struct user_regs_struct *regs);
/* Executes one instruction, one turn of one that repeats; false: the program has ended. */
bool stepped_step(struct user_regs_struct *regs);
/* Goes on to a breakpoint; false: the program has ended. */
bool stepped_continue(void);

/* 16 bytes from an address on; 0 where nothing is mapped. */
struct stepped_bytes {
	uint8_t bytes[16];
};
struct stepped_bytes stepped_code(uint64_t address);
void stepped_set_byte(uint64_t address, uint8_t byte);

/* A mask register, and a vector register. */
uint64_t stepped_mask(unsigned reg);
struct stepped_vector {
	uint8_t bytes[64];
};
struct stepped_vector stepped_vector(unsigned reg);
