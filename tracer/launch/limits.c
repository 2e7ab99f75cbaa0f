/* Limits of rfprof's own, and of the program. */
#include "tracer/launch/limits.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>

/* Each counted process takes descriptors of ours; memory that is shared with it counts as a file.
 */
static const int raised[] = {RLIMIT_NOFILE, RLIMIT_FSIZE};
#define N_RAISED (sizeof(raised) / sizeof(raised[0]))

static struct rlimit before[N_RAISED];
static bool known[N_RAISED];
static void (*on_large_file)(int) = SIG_ERR;

void limits_raise(void)
{
	for (size_t i = 0; i < N_RAISED; i++) {
		known[i] = getrlimit(raised[i], &before[i]) == 0;
		const struct rlimit most = {before[i].rlim_max, before[i].rlim_max};
		if (known[i])
			setrlimit(raised[i], &most);
	}
	on_large_file = signal(SIGXFSZ, SIG_IGN);
}

void limits_give_back(void)
{
	for (size_t i = 0; i < N_RAISED; i++)
		if (known[i])
			setrlimit(raised[i], &before[i]);
	if (on_large_file != SIG_ERR)
		signal(SIGXFSZ, on_large_file);
}
