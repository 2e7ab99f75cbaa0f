/* A library whose kernel has a loop in the same 64 bytes of code as its entry. */
__attribute__((aligned(64))) double kernel_near(int turns)
{
	double x = 1;
	for (int i = 0; i < turns; i++) {
		x = x * 0.999999 + 1e-6;
		__asm__ volatile("" : "+x"(x));
	}
	return x;
}
