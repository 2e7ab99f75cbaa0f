/* What the kernel does for a program, as functions of the module "[kernel]": their offsets and
 * names. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum kernel_offset {
	KERNEL_OTHER = 1,
	KERNEL_FAULT,     /* page faults */
	KERNEL_INTERRUPT, /* which the program has not caused */
	KERNEL_EXIT,      /* the end of a thread or process */
	KERNEL_CALL,      /* a system call, which is not known */
	KERNEL_CALLS = 16 /* and its number: that system call */
};

/* The number of a system call by its name in the kernel ("read", "newfstatat"); UINT32_MAX: none.
 */
uint32_t kernel_call_number(const char *name);
/* The name of a system call, or NULL. */
const char *kernel_call_name(uint32_t number);

/* "[read]", "[page faults]": the name of what is at that offset; 64 bytes are enough. */
void kernel_name(uint32_t offset, char *name, size_t size);
