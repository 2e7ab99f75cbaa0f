/* Cross sections of a material at random energies: a search in a grid of all energies, then, of
 * each nuclide, an interpolation between two rows of its own table (as XSBench does).
 *
 * lookup [LOOKUPS [NUCLIDES]] */
#include "miniapp.h"

enum { POINTS = 2000, KINDS = 5, MOST = 64 };

struct point {
	double energy, section[KINDS];
};

static struct point *tables; /* POINTS of each nuclide */
static double *grid;         /* all energies, in their order */
static int *index_of;        /* of each grid point and nuclide: the row below it */
static int n_nuclides;

static int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static int by_energy(const void *a, const void *b)
{
	return by_value(&((const struct point *)a)->energy, &((const struct point *)b)->energy);
}

static void make_tables(void)
{
	const int n = n_nuclides * POINTS;
	uint64_t state = 5;
	tables = array_of((size_t)n, sizeof(*tables));
	grid = array_of((size_t)n, sizeof(*grid));
	index_of = array_of((size_t)n * (size_t)n_nuclides, sizeof(*index_of));
	for (int i = 0; i < n; i++) {
		tables[i].energy = next_random(&state);
		for (int k = 0; k < KINDS; k++)
			tables[i].section[k] = next_random(&state);
		grid[i] = tables[i].energy;
	}
	for (int k = 0; k < n_nuclides; k++)
		qsort(tables + k * POINTS, POINTS, sizeof(*tables), by_energy);
	qsort(grid, (size_t)n, sizeof(*grid), by_value);
	for (int k = 0; k < n_nuclides; k++)
		for (int i = 0, row = 0; i < n; i++) {
			while (row < POINTS - 2 && tables[k * POINTS + row + 1].energy <= grid[i])
				row++;
			index_of[i * n_nuclides + k] = row;
		}
}

/* No flop */
KERNEL_FUNCTION int search(double energy)
{
	int low = 0, high = n_nuclides * POINTS;
	while (high - low > 1) {
		const int middle = (low + high) / 2;
		if (grid[middle] > energy)
			high = middle;
		else
			low = middle;
	}
	return low;
}

/* 3 + 5 × 5 flop a nuclide */
KERNEL_FUNCTION void add_sections(double energy, const int *rows, double *sums)
{
	for (int k = 0; k < n_nuclides; k++) {
		const struct point *low = &tables[k * POINTS + rows[k]], *high = low + 1;
		const double f = (high->energy - energy) / (high->energy - low->energy);
		const double density = 1 + k;
		for (int i = 0; i < KINDS; i++)
			sums[i] += (high->section[i] - f * (high->section[i] - low->section[i])) *
				   density;
	}
}

/* No flop of its own: energies are whole numbers. */
KERNEL_FUNCTION void look_up(int lookups, double *total)
{
#pragma omp parallel
	{
		double sums[KINDS] = {0};
#pragma omp for
		for (int i = 0; i < lookups; i++) {
			uint64_t state = (uint64_t)i * 977 + 11;
			next_random(&state);
			const double energy = next_random(&state);
			add_sections(energy, index_of + search(energy) * n_nuclides, sums);
		}
#pragma omp critical
		for (int i = 0; i < KINDS; i++)
			total[i] = sums[i] > total[i] ? sums[i] : total[i];
	}
}

int main(int n, char **words)
{
	const int lookups = argument(n, words, 1, 600000);
	double total[KINDS] = {0};
	n_nuclides = argument(n, words, 2, MOST);
	if (n_nuclides < 1 || n_nuclides > MOST)
		return 1;
	make_tables();
	look_up(lookups, total);
	printf("sum %.10g\n", total[0] / lookups);
	truth("add_sections", (3 + 5ull * KINDS) * (unsigned)n_nuclides * (unsigned)lookups);
	return 0;
}
