/* Names of what the kernel does. */
#include "profile/kernel_names.h"

#include "system_calls.h"

#include <stdio.h>
#include <string.h>

enum { N_CALLS = sizeof(system_call_names) / sizeof(*system_call_names) };

uint32_t kernel_call_number(const char *name)
{
	for (uint32_t i = 0; i < N_CALLS; i++)
		if (system_call_names[i] && strcmp(system_call_names[i], name) == 0)
			return i;
	return UINT32_MAX;
}

const char *kernel_call_name(uint32_t number)
{
	return number < N_CALLS ? system_call_names[number] : NULL;
}

void kernel_name(uint32_t offset, char *name, size_t size)
{
	static const char *const names[KERNEL_CALLS] = {[KERNEL_OTHER] = "kernel",
							[KERNEL_FAULT] = "page faults",
							[KERNEL_INTERRUPT] = "interrupts",
							[KERNEL_EXIT] = "exit",
							[KERNEL_CALL] = "system call"};
	const char *known =
		offset < KERNEL_CALLS ? names[offset] : kernel_call_name(offset - KERNEL_CALLS);
	if (known)
		snprintf(name, size, "[%s]", known);
	else
		snprintf(name, size, "[system call %u]", offset - KERNEL_CALLS);
}
