/* Heat in a rod that is spread over the processes: exchange with neighbours, then a gather. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define CELLS 1200
#define STEPS 300

int main(int argc, char **argv)
{
	int rank, size;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	int own = CELLS / size, left = rank ? rank - 1 : MPI_PROC_NULL;
	int right = rank + 1 < size ? rank + 1 : MPI_PROC_NULL;
	double *now = calloc(own + 2, sizeof *now), *next = calloc(own + 2, sizeof *next);
	double *all = calloc(CELLS, sizeof *all);

	for (int i = 1; i <= own; i++)
		now[i] = (rank * own + i) * 31 % 100;
	for (int step = 0; step < STEPS; step++) {
		MPI_Sendrecv(&now[1], 1, MPI_DOUBLE, left, 0, &now[own + 1], 1, MPI_DOUBLE, right, 0,
			     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Sendrecv(&now[own], 1, MPI_DOUBLE, right, 1, &now[0], 1, MPI_DOUBLE, left, 1,
			     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		for (int i = 1; i <= own; i++)
			next[i] = now[i] + 0.25 * (now[i - 1] - 2 * now[i] + now[i + 1]);
		double *swap = now;
		now = next;
		next = swap;
	}
	MPI_Gather(now + 1, own, MPI_DOUBLE, all, own, MPI_DOUBLE, 0, MPI_COMM_WORLD);
	if (rank == 0)
		for (int i = 0; i < CELLS; i += 100)
			printf("%.17g\n", all[i]);
	free(now);
	free(next);
	free(all);
	MPI_Finalize();
	return 0;
}
