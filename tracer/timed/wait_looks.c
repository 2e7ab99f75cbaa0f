/* Reads /proc/PID/task/TID/syscall, and the stack of the thread. */
#include "tracer/timed/wait_looks.h"

#include "base/small_file.h"
#include "profile/kernel_names.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static const struct {
	uint32_t number;
	enum wait_cause cause;
} causes[] = {
	{SYS_futex, WAIT_FUTEX},
	{SYS_nanosleep, WAIT_SLEEP},
	{SYS_clock_nanosleep, WAIT_SLEEP},
	{SYS_wait4, WAIT_CHILD},
	{SYS_waitid, WAIT_CHILD},
	{SYS_vfork, WAIT_CHILD},
	{SYS_clone, WAIT_CHILD},
	{SYS_clone3, WAIT_CHILD},
	{SYS_poll, WAIT_POLL},
	{SYS_ppoll, WAIT_POLL},
	{SYS_select, WAIT_POLL},
	{SYS_pselect6, WAIT_POLL},
	{SYS_epoll_wait, WAIT_POLL},
	{SYS_epoll_pwait, WAIT_POLL},
	{SYS_fsync, WAIT_DISK},
	{SYS_fdatasync, WAIT_DISK},
	{SYS_sync, WAIT_DISK},
	{SYS_syncfs, WAIT_DISK},
	{SYS_msync, WAIT_DISK},
	{SYS_accept, WAIT_SOCKET},
	{SYS_accept4, WAIT_SOCKET},
	{SYS_connect, WAIT_SOCKET},
	{SYS_recvfrom, WAIT_SOCKET},
	{SYS_recvmsg, WAIT_SOCKET},
	{SYS_sendto, WAIT_SOCKET},
	{SYS_sendmsg, WAIT_SOCKET},
	{SYS_pause, WAIT_SIGNAL},
	{SYS_rt_sigsuspend, WAIT_SIGNAL},
	{SYS_rt_sigtimedwait, WAIT_SIGNAL},
};

/* Of reads and writes: by what the descriptor is open for. */
static enum wait_cause cause_of_descriptor(uint32_t pid, uint64_t descriptor)
{
	static const struct {
		const char *beginning;
		enum wait_cause cause;
	} kinds[] = {{"pipe:", WAIT_PIPE},
		     {"socket:", WAIT_SOCKET},
		     {"/dev/tty", WAIT_TERMINAL},
		     {"/dev/pts/", WAIT_TERMINAL},
		     {"anon_inode:[eventfd", WAIT_EVENT},
		     {"anon_inode:[timerfd", WAIT_SLEEP},
		     {"anon_inode:[signalfd", WAIT_SIGNAL},
		     {"/", WAIT_DISK}};
	char path[64], name[128];
	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/fd/%" PRIu64, pid, descriptor);
	const ssize_t n = readlink(path, name, sizeof(name) - 1);
	if (n < 0)
		return WAIT_OTHER;
	name[n] = '\0';
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (strncmp(name, kinds[i].beginning, strlen(kinds[i].beginning)) == 0)
			return kinds[i].cause;
	return WAIT_OTHER;
}

static enum wait_cause cause_of(uint32_t pid, uint32_t number, uint64_t first)
{
	for (size_t i = 0; i < sizeof(causes) / sizeof(*causes); i++)
		if (causes[i].number == number)
			return causes[i].cause;
	return cause_of_descriptor(pid, first);
}

bool wait_look_at(uint32_t pid, uint32_t tid, struct wait_look *look, uint8_t *stack, size_t room)
{
	char directory[64], line[256];
	uint32_t number;
	uint64_t first, sp, ip;
	snprintf(directory, sizeof(directory), "/proc/%" PRIu32 "/task/%" PRIu32, pid, tid);
	if (!small_file_line(directory, "syscall", line, sizeof(line)) ||
	    sscanf(line, "%" SCNu32 " 0x%" SCNx64 " %*s %*s %*s %*s %*s 0x%" SCNx64 " 0x%" SCNx64,
		   &number, &first, &sp, &ip) != 4)
		return false;
	*look = (struct wait_look){.place = {KERNEL_CALLS + number, cause_of(pid, number, first)},
				   .regs = {.ip = ip, .sp = sp}};
	/* what ends at the end of the stack is read by page */
	const size_t page = 4096, to_end = page - sp % page;
	for (size_t n = room; n >= 64; n = n > to_end ? to_end : 0) {
		const struct iovec here = {stack, n}, there = {(void *)(uintptr_t)sp, n};
		const ssize_t got = process_vm_readv((pid_t)pid, &here, 1, &there, 1, 0);
		if (got > 0) {
			look->stack_size = (size_t)got;
			break;
		}
		if (n <= to_end)
			break;
	}
	return true;
}
