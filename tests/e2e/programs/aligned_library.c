/* A function at an address whose 16 low bits are 0. */
int next_number(int x);
__attribute__((aligned(65536))) int next_number(int x)
{
	return x + 1;
}
