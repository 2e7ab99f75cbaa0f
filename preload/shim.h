/* Inside of the shim.  Rules for all code in this folder that runs in the program:
 * - Code marked "handler" runs in a signal handler at any point of the program: it makes its system
 *   calls by itself, calls nothing of libc, takes no lock that it could wait for, and leaves errno
 *   alone.
 * - Nothing allocates from the program's heap.
 * - No descriptor stays open.
 * - When something is missing the program runs on without samples. */
#pragma once

#include "preload/shim_protocol.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
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

/* One sampled thread. */
struct shim_thread {
	struct shim_slot *slot;
	uint32_t generation, pid, tid;
	int timer; /* kernel's id */
	char name[16];
};

/* The process. */
struct shim_process {
	struct shim_header *header;   /* the whole file, mapped; NULL: no sampling */
	struct sigaction user_action; /* what the program wants for our signal */
};
extern struct shim_process shim_process;
extern __thread struct shim_thread *shim_self __attribute__((tls_model("initial-exec")));

/* shim_ring.c, all for handlers: records into a thread's ring. */
struct shim_sample {
	uint64_t ip, period;
	uint64_t regs[8]; /* bx, bp, sp, ip, r12 … r15 */
	uint64_t stack_size;
};
void shim_write_sample(struct shim_thread *thread, const struct shim_sample *sample);
void shim_write_comm(struct shim_thread *thread, bool exec);
void shim_write_fork(struct shim_thread *thread, uint32_t parent_pid, uint32_t parent_tid);
void shim_write_mapping(struct shim_thread *thread, const uint64_t range[3], uint32_t major,
			uint32_t minor, uint64_t inode, const char *path);

/* shim_maps.c, for handlers: makes sure that the executable mapping at `address` has been
 * written; 0: all of them. */
void shim_maps_need(struct shim_thread *thread, uint64_t address);
/* Only one thread is left (after fork): whoever held the lock is gone. */
void shim_maps_forked(void);

/* shim_timer.c: timers and their handler. */
void shim_handler(int signal_number, siginfo_t *info, void *context);
/* Starts sampling the calling thread, made by thread `parent_tid` of process `parent_pid` (0: this
 * is the first thread of a new program). */
void shim_thread_begin(uint32_t parent_pid, uint32_t parent_tid);
void shim_thread_end(void);

/* shim_exec.c */
/* Takes our variables out of the environment, keeping what programs started by execve need.
 * Returns the path of the shared file, or NULL when nobody asks for samples. */
const char *shim_environment_take(void);
