/* System calls and copying without libc, for code that may run at any point of the program. */
#pragma once

#include <stddef.h>
#include <sys/syscall.h>

static inline long shim_syscall(long number, long a, long b, long c, long d)
{
	long result;
	register long r10 __asm__("r10") = d;
	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10)
			 : "rcx", "r11", "memory");
	return result;
}

/* Handler's memcpy: the compiler's would be a call into libc. */
static inline void shim_copy(void *to, const void *from, size_t size)
{
	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size) : : "memory");
}
