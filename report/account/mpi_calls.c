/* Names in Open MPI (opal, mca, event loops), MPICH (MPIR, MPID), UCX and libfabric. */
#include "report/account/mpi_calls.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define N(list) (sizeof(list) / sizeof(*(list)))

/* Behind "MPI_", in any case of letters; also with more behind it (Allgatherv, Wait, Waitall). */
static const char *const blocking[] = {
	"Allgather", "Allreduce", "Alltoall",   "Barrier", "Bcast", "Exscan", "Finalize",
	"Gather",    "Init",      "Mrecv",      "Mprobe",  "Probe", "Recv",   "Reduce",
	"Rsend",     "Scan",      "Scatter",    "Send",    "Ssend", "Wait",   "Win_fence",
	"Neighbor",  "Comm_dup",  "Comm_split", "Win_",
};
/* Those that only begin like one. */
static const char *const not_blocking[] = {"Recv_init", "Send_init", "Ssend_init", "Rsend_init",
					   "Reduce_local"};
static const char *const progress[] = {
	"progress",        "sync_wait",     "request_default_wait", "MPIR_Wait", "MPIDI_CH3I_",
	"event_base_loop", "poll_dispatch", "epoll_dispatch",       "psm2_poll", "fi_cq_read",
};
static const char *const copies[] = {"memcpy",    "memmove",   "_pack",  "_unpack",
				     "convertor", "Localcopy", "Typerep"};
static const char *const moving_calls[] = {
	"[process_vm_readv]", "[process_vm_writev]", "[read]",    "[write]",  "[readv]",
	"[writev]",           "[sendmsg]",           "[recvmsg]", "[sendto]", "[recvfrom]"};
static const char *const sleeping_calls[] = {"[sched_yield]", "[poll]",           "[ppoll]",
					     "[select]",      "[pselect6]",       "[epoll_wait]",
					     "[epoll_pwait]", "[epoll_pwait2]",   "[futex]",
					     "[nanosleep]",   "[clock_nanosleep]"};

/* What follows "MPI_"; NULL where it is no call. */
static const char *tail_of(const char *name)
{
	const char *at = *name == 'P' || *name == 'p' ? name + 1 : name;
	if (strncasecmp(at, "MPI_", 4) != 0)
		return NULL;
	const bool fortran = strncmp(at, "mpi_", 4) == 0;
	const size_t length = strlen(at);
	if (fortran)
		return length > 5 && at[length - 1] == '_' && islower((unsigned char)at[4]) ? at + 4
											    : NULL;
	return strncmp(at, "MPI_", 4) == 0 && isupper((unsigned char)at[4]) &&
			       islower((unsigned char)at[5])
		       ? at + 4
		       : NULL;
}

bool mpi_is_call(const char *name)
{
	return tail_of(name) != NULL;
}

char *mpi_call_name(const char *name)
{
	const char *tail = tail_of(name);
	char *text = NULL;
	if (!tail || asprintf(&text, "MPI_%s", tail) < 0)
		return NULL;
	text[4] = (char)toupper((unsigned char)text[4]);
	for (size_t n = strlen(text); n > 5 && text[n - 1] == '_'; n--)
		text[n - 1] = '\0';
	return text;
}

static bool begins_with(const char *tail, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strncasecmp(tail, list[i], strlen(list[i])) == 0)
			return true;
	return false;
}

static bool has_part(const char *name, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcasestr(name, list[i]))
			return true;
	return false;
}

static bool is_one_of(const char *name, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(name, list[i]) == 0)
			return true;
	return false;
}

bool mpi_is_blocking(const char *name)
{
	const char *tail = tail_of(name);
	return tail && begins_with(tail, blocking, N(blocking)) &&
	       !begins_with(tail, not_blocking, N(not_blocking));
}

bool mpi_is_progress(const char *name)
{
	return has_part(name, progress, N(progress));
}

bool mpi_is_copy(const char *name)
{
	return *name == '[' ? is_one_of(name, moving_calls, N(moving_calls))
			    : has_part(name, copies, N(copies));
}

bool mpi_is_sleep(const char *name)
{
	return is_one_of(name, sleeping_calls, N(sleeping_calls));
}
