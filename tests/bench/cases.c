/* A loop of eight cases, which a table of jumps leads to in an order that repeats after 16 turns:
 * what an indirect jump takes that is predicted well. */
#include <stdio.h>
#include <stdlib.h>

int main(int n, char **words)
{
	static const unsigned char order[16] = {3, 1, 7, 2, 5, 0, 6, 4, 3, 2, 1, 0, 7, 6, 5, 4};
	const long turns = atol(words[n - 1]);
	unsigned long x = 1;
	for (long i = 0; i < turns; i++)
		switch (order[i & 15]) {
		case 0:
			x += 3;
			break;
		case 1:
			x ^= (unsigned long)i;
			break;
		case 2:
			x -= (unsigned long)i;
			break;
		case 3:
			x = x * 5 + 1;
			break;
		case 4:
			x += x >> 3;
			break;
		case 5:
			x ^= x << 2;
			break;
		case 6:
			x += 77;
			break;
		case 7:
			x = ~x;
			break;
		}
	printf("%lu\n", x);
	return 0;
}
