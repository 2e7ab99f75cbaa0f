/* The order matters: the user changes while there are capabilities to do so, and the filter of
 * system calls comes last. */
#include "base/rights.h"

#include "base/small_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- system calls ---- */

/* Low half of an argument; x86-64 is little-endian. */
#define ARGUMENT(n) ((uint32_t)offsetof(struct seccomp_data, args[n]))

#define LOAD(offset) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset)
#define ANSWER(what) BPF_STMT(BPF_RET | BPF_K, what)
#define ALLOW ANSWER(SECCOMP_RET_ALLOW)
/* An error and not a signal: libraries ask for what they can do without. */
#define REFUSE ANSWER(SECCOMP_RET_ERRNO | EPERM)
#define ALLOW_CALL(number) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), ALLOW
/* Unless its argument `n` has one of the bits. */
#define ALLOW_WITHOUT(number, n, bits)                                        \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 4), LOAD(ARGUMENT(n)), \
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, 0, 1), REFUSE, ALLOW

/* A child has one thread: who waits for a lock there waits for ever, and would try again and again
 * if that were refused.  Waking nobody is allowed, and ends pthread_once. */
#define KILL_WHO_WAITS                                                           \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_futex, 0, 5), LOAD(ARGUMENT(1)), \
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, FUTEX_CMD_MASK),             \
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, FUTEX_WAKE, 0, 1), ALLOW,    \
		ANSWER(SECCOMP_RET_KILL_PROCESS)

#define WRITING (O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND)

static const struct sock_filter reading_only[] = {
	LOAD(offsetof(struct seccomp_data, arch)),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0),
	ANSWER(SECCOMP_RET_KILL_PROCESS),
	LOAD(offsetof(struct seccomp_data, nr)),
	ALLOW_WITHOUT(SYS_openat, 2, WRITING),
	ALLOW_WITHOUT(SYS_open, 1, WRITING),
	ALLOW_WITHOUT(SYS_mmap, 2, PROT_EXEC),
	ALLOW_WITHOUT(SYS_mprotect, 2, PROT_EXEC),
	ALLOW_CALL(SYS_read),
	ALLOW_CALL(SYS_pread64),
	ALLOW_CALL(SYS_lseek),
	ALLOW_CALL(SYS_close),
	ALLOW_CALL(SYS_fstat),
	ALLOW_CALL(SYS_stat),
	ALLOW_CALL(SYS_lstat),
	ALLOW_CALL(SYS_newfstatat),
	ALLOW_CALL(SYS_readlink),
	ALLOW_CALL(SYS_readlinkat),
	ALLOW_CALL(SYS_getcwd),
	ALLOW_CALL(SYS_write), /* nothing but the answer is open for it */
	ALLOW_CALL(SYS_brk),
	ALLOW_CALL(SYS_munmap),
	ALLOW_CALL(SYS_mremap),
	ALLOW_CALL(SYS_madvise),
	ALLOW_CALL(SYS_getrandom),
	ALLOW_CALL(SYS_getpid), /* who it is, anybody may know */
	ALLOW_CALL(SYS_gettid),
	ALLOW_CALL(SYS_getuid),
	ALLOW_CALL(SYS_geteuid),
	ALLOW_CALL(SYS_rt_sigprocmask),
	ALLOW_CALL(SYS_rt_sigreturn),
	ALLOW_CALL(SYS_sigaltstack), /* a sanitizer asks for it before it ends */
	ALLOW_CALL(SYS_exit),
	ALLOW_CALL(SYS_exit_group),
	KILL_WHO_WAITS,
	REFUSE,
};

/* ---- the rest ---- */

static void limit(int resource, rlim_t most)
{
	struct rlimit now;
	if (getrlimit(resource, &now) == 0 && now.rlim_max < most)
		most = now.rlim_max;
	(void)setrlimit(resource, &(struct rlimit){most, most});
}

static rlim_t data_in_use(void)
{
	char value[64];
	return small_file_status(getpid(), "VmData", value, sizeof(value))
		       ? strtoull(value, NULL, 10) * 1024
		       : 0;
}

/* By the system calls themselves: glibc's functions would change all threads, of which a child has
 * only the copies.  The user of a file can be unknown in a user namespace, whose root has no rights
 * outside of it. */
static bool become(uid_t owner)
{
	const gid_t nobody = 65534;
	if (geteuid() != 0 || owner == 0)
		return true;
	(void)syscall(SYS_setgroups, 0, NULL);
	(void)syscall(SYS_setresgid, nobody, nobody, nobody);
	return syscall(SYS_setresuid, owner, owner, owner) == 0 || errno == EINVAL;
}

static bool drop_capabilities(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};
	return syscall(SYS_capset, &header, none) == 0;
}

bool rights_drop(uid_t owner, unsigned seconds, size_t bytes)
{
	const struct sock_fprog filter = {sizeof(reading_only) / sizeof(*reading_only),
					  (struct sock_filter *)reading_only};
	limit(RLIMIT_CORE, 0);
	limit(RLIMIT_NPROC, 0);
	limit(RLIMIT_CPU, seconds);
	limit(RLIMIT_DATA, data_in_use() + bytes);
	if (!become(owner) || !drop_capabilities() || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return false;
	(void)prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0);
	return true;
}
