/* The environment: our two variables are there for the dynamic linker and for this constructor,
 * and the program must not see them.  They are taken out before main, and put back in the copy that
 * each exec or posix_spawn passes on, so that programs started by the program are sampled as well.
 * A child that does not run this constructor (a static binary) sees them.  Children of system(3)
 * and popen(3) are started inside of libc and not sampled.
 *
 * Everything here may run between vfork and execve: no allocation, no static buffers. */
#include "preload/shim_exec.h"

#include "preload/shim.h"

#include <alloca.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "preload/shim_rules.h"

static const char PRELOAD[] = "LD_PRELOAD=";
static const char VARIABLE[] = SHIM_ENVIRONMENT "=";

/* Of the environment that this program was started with; empty: not asked for. */
static char shim_path[4096], file_path[256];

/* Index of the entry that begins with `prefix` ("NAME="), or of the closing NULL. */
static size_t find(char *const *environment, const char *prefix)
{
	size_t i = 0;
	while (environment[i] && strncmp(environment[i], prefix, strlen(prefix)) != 0)
		i++;
	return i;
}

static void remove_entry(char **environment, size_t i)
{
	for (; environment[i]; i++)
		environment[i] = environment[i + 1];
}

/* LD_PRELOAD begins with our own path.  What follows it is the user's; it moves to the front of the
 * same string. */
static bool restore_preload(char **environment, bool had_preload)
{
	size_t i = find(environment, PRELOAD);
	if (!environment[i])
		return false;
	char *value = environment[i] + strlen(PRELOAD);
	size_t length = strcspn(value, ": ");
	if (length >= sizeof(shim_path))
		return false;
	memcpy(shim_path, value, length);
	shim_path[length] = '\0';
	char *rest = value + length + (value[length] != '\0');
	memmove(value, rest, strlen(rest) + 1);
	if (!had_preload)
		remove_entry(environment, i);
	return true;
}

const char *shim_environment_take(void)
{
	size_t i = environ ? find(environ, VARIABLE) : 0;
	if (!environ || !environ[i])
		return NULL;
	const char *value = environ[i] + strlen(VARIABLE);
	if ((*value != '0' && *value != '1') || value[1] != ':' ||
	    strlen(value + 2) >= sizeof(file_path))
		return NULL;
	bool had_preload = *value == '1';
	strcpy(file_path, value + 2);
	remove_entry(environ, i);
	return restore_preload(environ, had_preload) ? file_path : NULL;
}

/* Room for what `augment` writes. */
struct room {
	char **entries;
	char *preload;
	char variable[sizeof(VARIABLE) + 2 + sizeof(file_path)];
};

static size_t n_entries(char *const *environment)
{
	size_t n = 0;
	while (environment && environment[n])
		n++;
	return n;
}

static size_t preload_size(char *const *environment)
{
	size_t size = sizeof(PRELOAD) + strlen(shim_path) + 1;
	if (environment && environment[find(environment, PRELOAD)])
		size += strlen(environment[find(environment, PRELOAD)]);
	return size;
}

static char *const *augment(char *const *environment, struct room *room)
{
	size_t n = n_entries(environment);
	size_t at = n ? find(environment, PRELOAD) : 0;
	bool had_preload = at < n;
	for (size_t i = 0; i < n; i++)
		room->entries[i] = environment[i];
	strcpy(stpcpy(room->preload, PRELOAD), shim_path);
	if (had_preload) {
		const char *value = environment[at] + strlen(PRELOAD);
		strcat(strcat(room->preload, ":"), value);
	}
	strcpy(stpcpy(stpcpy(room->variable, VARIABLE), had_preload ? "1:" : "0:"), file_path);
	room->entries[at] = room->preload;
	if (!had_preload)
		n++;
	room->entries[n] = room->variable;
	room->entries[n + 1] = NULL;
	return room->entries;
}

/* The environment for a new program: `given`, with ours where samples are asked for.  A macro
 * because the room must be on the caller's stack. */
#define ENVIRONMENT(given, room)                                                       \
	(!*file_path || !shim_process.header                                           \
		 ? (given)                                                             \
		 : ((room)->entries = alloca((n_entries(given) + 3) * sizeof(char *)), \
		    (room)->preload = alloca(preload_size(given)), augment((given), (room))))

EXPORT int execve(const char *path, char *const argv[], char *const envp[])
{
	struct room room;
	return ORIGINAL(execve)(path, argv, ENVIRONMENT(envp, &room));
}

EXPORT int execvpe(const char *file, char *const argv[], char *const envp[])
{
	struct room room;
	return ORIGINAL(execvpe)(file, argv, ENVIRONMENT(envp, &room));
}

EXPORT int fexecve(int fd, char *const argv[], char *const envp[])
{
	struct room room;
	return ORIGINAL(fexecve)(fd, argv, ENVIRONMENT(envp, &room));
}

EXPORT int execv(const char *path, char *const argv[])
{
	return execve(path, argv, environ);
}

EXPORT int execvp(const char *file, char *const argv[])
{
	return execvpe(file, argv, environ);
}

#define WRAP_SPAWN(name)                                                                          \
	EXPORT int name(pid_t *restrict pid, const char *restrict program,                        \
			const posix_spawn_file_actions_t *restrict actions,                       \
			const posix_spawnattr_t *restrict attributes, char *const argv[restrict], \
			char *const envp[restrict])                                               \
	{                                                                                         \
		struct room room;                                                                 \
		return ORIGINAL(name)(pid, program, actions, attributes, argv,                    \
				      ENVIRONMENT(envp, &room));                                  \
	}
WRAP_SPAWN(posix_spawn)
WRAP_SPAWN(posix_spawnp)

/* execl and its kin: the number of arguments before the NULL. */
static size_t count(const char *first, va_list arguments)
{
	size_t n = 0;
	for (const char *each = first; each; each = va_arg(arguments, char *))
		n++;
	return n;
}

/* Collects them and the NULL into argv. */
static void collect(char **argv, const char *first, va_list *arguments)
{
	const char *each = first;
	while ((*argv++ = (char *)each))
		each = va_arg(*arguments, char *);
}

/* Sets `argv` (on the caller's stack) and leaves `arguments` behind the NULL. */
#define COLLECT(argv, first, arguments)                                        \
	do {                                                                   \
		va_start(arguments, first);                                    \
		argv = alloca((count(first, arguments) + 1) * sizeof(char *)); \
		va_end(arguments);                                             \
		va_start(arguments, first);                                    \
		collect(argv, first, &(arguments));                            \
	} while (0)

#define WRAP_LIST(name, with_environment)                            \
	EXPORT int name(const char *program, const char *first, ...) \
	{                                                            \
		char **argv;                                         \
		va_list arguments;                                   \
		COLLECT(argv, first, arguments);                     \
		va_end(arguments);                                   \
		return with_environment(program, argv, environ);     \
	}
WRAP_LIST(execl, execve)
WRAP_LIST(execlp, execvpe)

EXPORT int execle(const char *path, const char *first, ...)
{
	char **argv;
	va_list arguments;
	COLLECT(argv, first, arguments);
	char *const *envp = va_arg(arguments, char *const *);
	va_end(arguments);
	return execve(path, argv, envp);
}
