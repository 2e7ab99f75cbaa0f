/* Preloaded into rfprof: a libelf that fails, or that looks at the rights of who calls it.  What it does is in
 * READER: "crash", or "rights", which is a crash of whoever has more rights than a reader needs. */
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* Another file of the same owner may be read, and nothing may be changed. */
static int has_too_many_rights(int fd)
{
	struct stat status;
	return fstat(fd, &status) != 0 || (status.st_uid != 0 && getuid() != status.st_uid) ||
	       open("/tmp", O_WRONLY | O_TMPFILE, 0600) >= 0 || socket(AF_UNIX, SOCK_STREAM, 0) >= 0 || fork() >= 0 ||
	       kill(1, 0) == 0;
}

void *elf_begin(int fd, int command, void *reference)
{
	void *(*next)(int, int, void *) = (void *(*)(int, int, void *))dlsym(RTLD_NEXT, "elf_begin");
	const char *what = getenv("READER");
	if (what && strcmp(what, "crash") == 0)
		abort();
	if (what && strcmp(what, "rights") == 0 && has_too_many_rights(fd))
		abort();
	return next(fd, command, reference);
}
