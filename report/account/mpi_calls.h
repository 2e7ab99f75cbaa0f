/* What the names of functions say of calls of MPI. */
#pragma once

#include "profile/profile.h"

#include <stdbool.h>

/* Whether a function is a call of MPI as programs make it: "MPI_Send", "PMPI_Send", Fortran's
 * "mpi_send_". */
bool mpi_is_call(const char *name);
/* Its name as in the standard: "MPI_Send"; to be freed, NULL when memory is short. */
char *mpi_call_name(const char *name);
/* Whether the call returns only when others have done their part, so that unnamed code in it is
 * taken for waiting. */
bool mpi_is_blocking(const char *name);
/* Whether a function of a library looks for progress, over and over: "opal_progress",
 * "ucp_worker_progress". */
bool mpi_is_progress(const char *name);
/* Whether a function, or a system call ("[read]"), moves the message. */
bool mpi_is_copy(const char *name);
/* Whether a system call gives up the processor, or waits: "[sched_yield]". */
bool mpi_is_sleep(const char *name);
