/* Which names are calls of MPI, and what libraries do in them. */
#include "report/account/mpi_calls.h"

#include <criterion/criterion.h>
#include <stdlib.h>

Test(mpi_calls, are_told_by_their_names)
{
	static const char *const calls[][2] = {
		{"MPI_Send", "MPI_Send"},
		{"PMPI_Allreduce", "MPI_Allreduce"},
		{"mpi_send_", "MPI_Send"},
		{"pmpi_bcast__", "MPI_Bcast"},
		{"MPI_Init_thread", "MPI_Init_thread"},
	};
	static const char *const others[] = {"MPIR_Wait",    "MPI_T",       "mpi_send",
					     "main",         "MPI_",        "PMPI",
					     "MPI_IN_PLACE", "my_MPI_Send", "mpi__"};
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		char *name = mpi_call_name(calls[i][0]);
		cr_expect(mpi_is_call(calls[i][0]), "%s", calls[i][0]);
		cr_assert_not_null(name);
		cr_expect_str_eq(name, calls[i][1]);
		free(name);
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		cr_expect_not(mpi_is_call(others[i]), "%s", others[i]);
}

Test(mpi_calls, wait_copy_or_work)
{
	cr_expect(mpi_is_blocking("MPI_Waitall") && mpi_is_blocking("PMPI_Recv") &&
		  mpi_is_blocking("mpi_barrier_"));
	cr_expect_not(mpi_is_blocking("MPI_Isend"));
	cr_expect_not(mpi_is_blocking("MPI_Recv_init"));
	cr_expect_not(mpi_is_blocking("MPI_Comm_rank"));
	cr_expect_not(mpi_is_blocking("MPI_Reduce_local"));
	cr_expect(mpi_is_progress("opal_progress") && mpi_is_progress("ucp_worker_progress"));
	cr_expect_not(mpi_is_progress("mca_pml_ob1_send"));
	cr_expect(mpi_is_copy("__memmove_avx_unaligned_erms") && mpi_is_copy("[process_vm_readv]"));
	cr_expect_not(mpi_is_copy("[sched_yield]"));
	cr_expect(mpi_is_sleep("[sched_yield]") && mpi_is_sleep("[epoll_wait]"));
	cr_expect_not(mpi_is_sleep("[read]"));
}
