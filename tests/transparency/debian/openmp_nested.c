/* Teams within teams, made and ended many times: threads that come and go. */
#include <omp.h>
#include <stdio.h>

int main(void)
{
	long sum = 0;
	int deepest = 0;

	omp_set_max_active_levels(2);
	for (int round = 0; round < 30; round++) {
#pragma omp parallel num_threads(3) reduction(+ : sum)
		{
			int outer = omp_get_thread_num();
#pragma omp parallel num_threads(2) reduction(+ : sum)
			{
				sum += 10 * outer + omp_get_thread_num();
#pragma omp barrier
#pragma omp critical(level)
				deepest = omp_get_level() > deepest ? omp_get_level() : deepest;
			}
		}
	}
	printf("%ld %d\n", sum, deepest);
	return 0;
}
