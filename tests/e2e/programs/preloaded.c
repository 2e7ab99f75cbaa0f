/* A library in the user's own LD_PRELOAD; rfprof loads it too, and only the program's counts. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

__attribute__((constructor)) static void say(void)
{
	if (!strcmp(program_invocation_short_name, "true") && write(1, "preloaded\n", 10) != 10)
		_exit(1);
}
