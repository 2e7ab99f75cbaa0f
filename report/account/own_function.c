/* Tells the program's own functions from those of the system by modules and names. */
#include "report/account/own_function.h"

#include "profile/function_index.h"
#include "profile/kernel_names.h"
#include "profile/system_modules.h"

#include <string.h>

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* Names that the C standard reserves (7.1.3), of POSIX threads, and of system calls. */
static bool is_system_name(const char *name)
{
	static const char *const beginnings[] = {"__",     "_IO_",  "_dl_",  "pthread_", "sem_",
						 "futex_", "GOMP_", "gomp_", "omp_"};
	static const char *const names[] = {"usleep",  "sleep",   "fwrite",  "fread",   "fputs",
					    "puts",    "printf",  "fprintf", "memcpy",  "memset",
					    "memmove", "malloc",  "calloc",  "realloc", "free",
					    "wait",    "waitpid", "raise"};
	for (size_t i = 0; i < sizeof(beginnings) / sizeof(*beginnings); i++)
		if (begins(name, beginnings[i]))
			return true;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return kernel_call_number(name) != UINT32_MAX;
}

static const char *name_of(const struct profile *profile, const uint32_t *places, uint32_t frame)
{
	const uint32_t place = places[frame];
	return place < profile->n_functions ? profile->functions[place].name : "";
}

static const char *module_of(const struct profile *profile, uint32_t frame)
{
	const uint32_t module = profile->frames[frame].module;
	return module == PROFILE_NONE ? "" : profile->modules[module].name;
}

static bool is_own(const struct profile *profile, const uint32_t *places, uint32_t frame)
{
	return !profile_is_system_module(module_of(profile, frame)) &&
	       !is_system_name(name_of(profile, places, frame));
}

uint32_t own_frame(const struct profile *profile, const uint32_t *places, uint32_t frame)
{
	uint32_t first = frame;
	if (frame != PROFILE_NONE && profile_is_kernel(profile, profile->frames[frame].module) &&
	    profile->frames[frame].parent != PROFILE_NONE)
		first = profile->frames[frame].parent;
	for (uint32_t at = first; at != PROFILE_NONE; at = profile->frames[at].parent)
		if (is_own(profile, places, at))
			return at;
	return first;
}

/* What stands in the names on the way, from the innermost function outward; the first that fits. */
static const struct {
	const char *part;
	enum wait_kind kind;
} parts[] = {
	{"take_gil", WAITS_INTERPRETER},
	{"PyEval_RestoreThread", WAITS_INTERPRETER},
	{"PyEval_AcquireThread", WAITS_INTERPRETER},
	{"barrier", WAITS_BARRIER},
	{"join", WAITS_JOIN},
	{"_cond_", WAITS_CONDITION},
	{"mutex", WAITS_LOCK},
	{"rwlock", WAITS_LOCK},
	{"lll_lock", WAITS_LOCK},
	{"_lock_", WAITS_LOCK},
	{"sem_", WAITS_SEMAPHORE},
	{"new_sem_wait", WAITS_SEMAPHORE},
};

static enum wait_kind kind_of_name(const char *name)
{
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		if (strstr(name, parts[i].part))
			return parts[i].kind;
	return WAITS_OTHER;
}

/* Waits of CPython's threads for its lock are those for a condition with a time limit, out of the
 * interpreter itself, whose functions have no names where it is stripped. */
static bool is_of_python(const struct profile *profile, const uint32_t *places, uint32_t frame)
{
	for (uint32_t at = frame; at != PROFILE_NONE; at = profile->frames[at].parent)
		if (is_own(profile, places, at))
			return strstr(module_of(profile, at), "python");
	return false;
}

static enum wait_kind kind_of_futex(const struct profile *profile, const uint32_t *places,
				    uint32_t frame)
{
	const uint32_t own = own_frame(profile, places, frame);
	for (uint32_t at = profile->frames[frame].parent; at != PROFILE_NONE;
	     at = profile->frames[at].parent) {
		const char *name = name_of(profile, places, at);
		const enum wait_kind kind = kind_of_name(name);
		if (kind == WAITS_CONDITION && strstr(name, "timedwait") &&
		    is_of_python(profile, places, at))
			return WAITS_INTERPRETER;
		if (kind != WAITS_OTHER)
			return kind;
		if (begins(module_of(profile, at), "libgomp") ||
		    begins(module_of(profile, at), "libomp") ||
		    begins(module_of(profile, at), "libiomp"))
			return WAITS_BARRIER;
		if (at == own)
			break;
	}
	return WAITS_OTHER;
}

enum wait_kind wait_kind_of(const struct profile *profile, const uint32_t *places,
			    const struct profile_wait *wait)
{
	static const enum wait_kind kinds[N_WAIT_CAUSES] = {
		[WAIT_OTHER] = WAITS_OTHER, [WAIT_FUTEX] = WAITS_OTHER,
		[WAIT_PIPE] = WAITS_PIPE,   [WAIT_SOCKET] = WAITS_SOCKET,
		[WAIT_DISK] = WAITS_DISK,   [WAIT_TERMINAL] = WAITS_TERMINAL,
		[WAIT_SLEEP] = WAITS_SLEEP, [WAIT_CHILD] = WAITS_CHILD,
		[WAIT_POLL] = WAITS_POLL,   [WAIT_SIGNAL] = WAITS_SIGNAL,
		[WAIT_EVENT] = WAITS_EVENT, [WAIT_OURS] = WAITS_OURS,
	};
	if (wait->cause == WAIT_FUTEX && wait->frame != PROFILE_NONE)
		return kind_of_futex(profile, places, wait->frame);
	return kinds[wait->cause];
}
