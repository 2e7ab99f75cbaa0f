/* Follows a route through all stations.  Its problem: each station is somewhere else in memory and names the next one, so
 * that nothing can be fetched ahead. */
#include <stdio.h>
#include <stdlib.h>

enum { STATIONS = 1 << 20, STEPS = 5000000 };

struct station {
	struct station *next;
	long toll;
	char rest[112];
};

static long travel(const struct station *station)
{
	long toll = 0;

	for (long i = 0; i < STEPS; i++) {
		toll += station->toll;
		station = station->next;
	}
	return toll;
}

int main(void)
{
	struct station *stations = malloc(STATIONS * sizeof(*stations));
	unsigned *order = malloc(STATIONS * sizeof(*order));
	unsigned long x = 1;

	for (unsigned i = 0; i < STATIONS; i++)
		order[i] = i;
	for (unsigned i = STATIONS - 1; i > 0; i--) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		unsigned other = (unsigned) (x >> 33) % i, kept = order[i];

		order[i] = order[other];
		order[other] = kept;
	}
	for (unsigned i = 0; i < STATIONS; i++) {
		stations[order[i]].next = &stations[order[(i + 1) % STATIONS]];
		stations[order[i]].toll = i % 7;
	}
	printf("%ld\n", travel(stations));
	free(order);
	free(stations);
	return 0;
}
