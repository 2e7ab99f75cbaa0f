/* Collective operations, messages of many sizes (by copy and by rendezvous), requests that overlap, and a
 * window of shared memory. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define LONGEST 200000

int main(int argc, char **argv)
{
	int rank, size;
	long total = 0, *window;
	static int sent[LONGEST], received[LONGEST];
	MPI_Request requests[2];
	MPI_Win win;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (int length = 1; length <= LONGEST; length *= 7) {
		for (int i = 0; i < length; i++)
			sent[i] = rank * 1000 + i % 997;
		MPI_Irecv(received, length, MPI_INT, (rank + size - 1) % size, 0, MPI_COMM_WORLD, &requests[0]);
		MPI_Isend(sent, length, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD, &requests[1]);
		MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
		for (int i = 0; i < length; i++)
			total += received[i];
	}
	MPI_Allreduce(MPI_IN_PLACE, &total, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
	MPI_Win_allocate(sizeof *window, sizeof *window, MPI_INFO_NULL, MPI_COMM_WORLD, &window, &win);
	*window = 0;
	MPI_Win_fence(0, win);
	long one = rank + 1;
	MPI_Accumulate(&one, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_SUM, win);
	MPI_Win_fence(0, win);
	if (rank == 0)
		printf("%ld %ld\n", total, *window);
	MPI_Win_free(&win);
	MPI_Finalize();
	return 0;
}
