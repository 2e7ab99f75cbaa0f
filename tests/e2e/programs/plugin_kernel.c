/* A library that is opened while a program runs (plugin_host.c).  With -DPLUGIN_PADDING it is a
 * larger one, whose kernel lies elsewhere; with -DPLUGIN_TAIL its kernel ends with a jump. */
#ifdef PLUGIN_PADDING
__attribute__((used)) static const char padding[1 << 20] = {1};
__attribute__((noinline, used)) void before_the_kernel(void)
{
	__asm__ volatile(".skip 0x6000, 0x90");
}
#endif

/* In lines of code without breakpoints, which would slow it down (docs/kernels.md). */
__attribute__((noinline, aligned(64))) static double loop(int turns)
{
	double x = 1;
	for (int i = 0; i < turns; i++) {
		x = x * 0.999999 + 1e-6;
		__asm__ volatile("" : "+x"(x));
	}
	return x;
}

#ifdef PLUGIN_TAIL
__attribute__((noinline, noclone)) double kernel_end(double x)
{
	__asm__ volatile("" : "+x"(x));
	return x + 1;
}

__attribute__((noinline, noclone, aligned(64))) double kernel_plugged(int turns)
{
	return kernel_end(loop(turns));
}
#else
__attribute__((noinline, noclone, aligned(64))) double kernel_plugged(int turns)
{
	double x = loop(turns);
	__asm__ volatile("" : "+x"(x));
	return x;
}
#endif
