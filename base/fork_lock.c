/* Stands between the program and the sanitizer's functions, of which those are here that rfprof and
 * its libraries use. */
#include "base/fork_lock.h"

#ifndef __SANITIZE_ADDRESS__

void fork_lock_init(void)
{
}

#else

#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static pthread_rwlock_t lock = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;

static void lock_all(void)
{
	pthread_rwlock_wrlock(&lock);
}

static void unlock_all(void)
{
	pthread_rwlock_unlock(&lock);
}

/* It belongs to the parent's thread, whose number the child's has not. */
static void make_anew(void)
{
	lock = (pthread_rwlock_t)PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
}

static void install(void)
{
	pthread_atfork(lock_all, unlock_all, make_anew);
}

void fork_lock_init(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, install);
}

/* LeakSanitizer knows what the dynamic linker allocates by its caller, which is here now. */
const char *__lsan_default_suppressions(void);
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void)
{
	return "leak:_dl_\n";
}

const char *__lsan_default_options(void);
__attribute__((visibility("default"))) const char *__lsan_default_options(void)
{
	return "print_suppressions=0";
}

#define WITHIN(type, call)                    \
	({                                    \
		pthread_rwlock_rdlock(&lock); \
		type result = call;           \
		pthread_rwlock_unlock(&lock); \
		result;                       \
	})

#define EXPORT(type, name, parameters, ...)                             \
	extern type __interceptor_##name parameters;                    \
	extern type name parameters;                                    \
	__attribute__((visibility("default"))) type name parameters     \
	{                                                               \
		return WITHIN(type, __interceptor_##name(__VA_ARGS__)); \
	}

EXPORT(void *, malloc, (size_t size), size)
EXPORT(void *, calloc, (size_t n, size_t size), n, size)
EXPORT(void *, realloc, (void *old, size_t size), old, size)
EXPORT(void *, reallocarray, (void *old, size_t n, size_t size), old, n, size)
EXPORT(void *, memalign, (size_t alignment, size_t size), alignment, size)
EXPORT(void *, aligned_alloc, (size_t alignment, size_t size), alignment, size)
EXPORT(int, posix_memalign, (void **out, size_t alignment, size_t size), out, alignment, size)
EXPORT(char *, strdup, (const char *text), text)
EXPORT(char *, __strdup, (const char *text), text)
EXPORT(char *, strndup, (const char *text, size_t n), text, n)

extern void __interceptor_free(void *memory);
__attribute__((visibility("default"))) void free(void *memory)
{
	pthread_rwlock_rdlock(&lock);
	__interceptor_free(memory);
	pthread_rwlock_unlock(&lock);
}

#endif
