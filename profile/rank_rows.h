/* Rows of a profile about the ranks of a parallel program (MPI, Slurm): what a rank did in MPI,
 * and, of ranks merged into one profile (ranks/merge.h), who they were. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* What a thread does while it is in a call of MPI. */
enum mpi_part {
	MPI_OTHER,   /* the library's own work: matching, packing, starting up */
	MPI_WAITING, /* asleep, or asking for progress over and over */
	MPI_COPYING, /* moving the message: copies, reads and writes of other processes and sockets
		      */
	N_MPI_PARTS
};

/* Time within a call of MPI, by the name of the call that the program made. */
struct profile_sum_mpi {
	char *name; /* "MPI_Allreduce" */
	enum mpi_part part;
	uint64_t samples;
	uint64_t time_ns;   /* on processors */
	uint64_t waited_ns; /* asleep; in the row of MPI_WAITING */
};

/* A rank of those that were merged.  Times are sums over its threads. */
struct profile_rank {
	uint32_t number; /* in the whole job */
	uint32_t node;   /* row in rank_nodes */
	char *file;      /* its profile, as it was named */
	char *exit_status;
	bool counted; /* its work was counted */
	bool once;    /* timed while it was counted */
	double wall_s;
	uint64_t time_ns, samples; /* on processors, less what the samples cost */
	uint64_t kernel_ns;        /* of it: in the kernel */
	uint64_t waited_ns, ready_ns;
	uint64_t mpi_waiting_ns, mpi_copying_ns, mpi_other_ns; /* with sleeping */
	uint64_t mpi_spinning_ns; /* of mpi_waiting_ns: on processors */
	uint64_t flop, load_bytes, store_bytes, instructions;
};

/* A node that they ran on, with its roofs. */
struct profile_rank_node {
	char *name, *cpu_model;
	uint32_t ranks, usable_threads;
	double memory_gbs,
		peak_gflops; /* by all threads, of reading and in double precision; 0: unknown */
	double wall_s;       /* of its slowest rank */
	uint64_t time_ns, flop, load_bytes, store_bytes, instructions;
};

/* Time of a row of `sums` in a rank.  Of the functions with most time only (ranks/merge.h). */
struct profile_rank_time {
	uint32_t sum, rank;
	uint64_t time_ns;
};
