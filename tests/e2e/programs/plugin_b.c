/* The other of two plugins of the same shape. */
int step(int x);
int step(int x)
{
	return 5 * x + 2;
}
