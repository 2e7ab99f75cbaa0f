/* One of two plugins of the same shape, so that the second is mapped where the first was. */
int step(int x);
int step(int x)
{
	return 3 * x + 1;
}
