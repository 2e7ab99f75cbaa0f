/* A program of MPI that knows its own work: each thread of rank r does (r + 1) * TURNS * LENGTH multiplications and as many
 * additions in work(), then the ranks pass a buffer round and add up; those with less to do wait.  With OpenMP each has two
 * threads.  Arguments: TURNS, and perhaps a rank that ends with status 7, or with the signal that a third argument names. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LENGTH = 1000, BUFFER = 1 << 20, THREADS = 2 };

__attribute__((noinline, noclone)) static double work(double *x, long turns)
{
	for (long t = 0; t < turns; t++)
		for (int i = 0; i < LENGTH; i++)
			x[i] = x[i] * 0.999 + 1.5;
	return x[0];
}

static double all_work(long turns, int *threads)
{
	static double x[THREADS][LENGTH];
	double sum = 0;
#ifdef _OPENMP
	*threads = THREADS;
#pragma omp parallel for num_threads(THREADS) reduction(+ : sum)
#else
	*threads = 1;
#endif
	for (int k = 0; k < *threads; k++)
		sum += work(x[k], turns);
	return sum;
}

static int pass_round(int rank, int size)
{
	char *out = malloc(BUFFER), *in = malloc(BUFFER);
	const char wanted = (char)((rank + size - 1) % size);
	memset(out, rank, BUFFER);
	memset(in, -1, BUFFER);
	MPI_Sendrecv(out, BUFFER, MPI_CHAR, (rank + 1) % size, 0, in, BUFFER, MPI_CHAR, (rank + size - 1) % size, 0,
		     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	int right = 1;
	for (int i = 0; i < BUFFER; i++)
		right &= in[i] == wanted;
	free(in);
	free(out);
	return right;
}

int main(int argc, char **argv)
{
	const long turns = argc > 1 ? atol(argv[1]) : 1000;
	int rank, size, threads;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	double mine = all_work(turns * (rank + 1), &threads), sum = 0;
	const int right = pass_round(rank, size);
	MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	printf("rank %d of %d: work %ld flop, received %s\n", rank, size, 2 * turns * (rank + 1) * LENGTH * threads,
	       right ? "right" : "wrong");
	fflush(stdout);
	MPI_Finalize();
	if (argc > 3 && rank == atoi(argv[2]))
		raise(atoi(argv[3]));
	return argc > 2 && rank == atoi(argv[2]) ? 7 : 0;
}
