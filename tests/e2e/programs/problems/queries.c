/* Answers queries on a graph, with a mark for each node that was seen.  Its problem: a query sees a few hundred nodes, but
 * all marks, 32 MiB, are set to zero before each. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NODES = 32 << 20, QUERIES = 600, STEPS = 300 };

static int query(unsigned char *seen, unsigned node)
{
	int steps = 0;

	memset(seen, 0, NODES);
	for (; steps < STEPS && !seen[node]; steps++) {
		seen[node] = 1;
		node = (node * 1103515245u + 12345u) % NODES;
	}
	return steps;
}

int main(void)
{
	unsigned char *seen = malloc(NODES);
	long steps = 0;

	for (unsigned i = 0; i < QUERIES; i++)
		steps += query(seen, i);
	printf("%ld\n", steps);
	free(seen);
	return 0;
}
