/* Shows a page in the user's browser: $BROWSER, else xdg-open, in a session of its own, so that
 * nothing that happens to rfprof's terminal or job reaches it. */
#include "cli/open_page.h"

#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_set(const char *variable)
{
	const char *value = getenv(variable);
	return value && value[0];
}

/* A list, or a command with arguments, is for xdg-open to understand. */
static const char *browser(void)
{
	const char *own = getenv("BROWSER");
	return own && own[0] && !strpbrk(own, ": %") ? own : "xdg-open";
}

/* Standard streams are nobody's, signals as they are at first.  Returns an errno. */
static int start(const char *program, const char *path)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none, all;
	pid_t pid;
	char *const words[] = {(char *)program, (char *)path, NULL};
	sigemptyset(&none);
	sigfillset(&all);
	posix_spawn_file_actions_init(&actions);
	for (int fd = 0; fd < 3; fd++)
		posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &all);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK |
						      POSIX_SPAWN_SETSIGDEF);
	const int error = posix_spawnp(&pid, program, &actions, &attributes, words, environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	return error;
}

void open_page(const char *path, FILE *stream)
{
	char *whole = realpath(path, NULL);
	const bool display = is_set("DISPLAY") || is_set("WAYLAND_DISPLAY") || is_set("BROWSER");
	const int error = !whole ? errno : display ? start(browser(), whole) : 0;
	if (!display)
		fputs("rfprof: --open: there is no display here; the page is ", stream);
	else if (error)
		fprintf(stream, "rfprof: --open: no browser could be started (%s); the page is ",
			strerror(error));
	if (!display || error) {
		text_write_path(stream, whole ? whole : path);
		fputc('\n', stream);
	}
	free(whole);
}
