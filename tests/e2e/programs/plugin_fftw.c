/* A library for plugin_host.c whose kernel has libfftw3 transform a vector of as many numbers. */
#include <fftw3.h>
#include <stdlib.h>

double kernel_plugged(int n)
{
	static fftw_plan plan;
	static fftw_complex *data;
	if (!plan) {
		data = calloc((size_t)n, sizeof(*data));
		plan = data ? fftw_plan_dft_1d(n, data, data, FFTW_FORWARD, FFTW_ESTIMATE) : NULL;
	}
	if (!plan)
		exit(4);
	fftw_execute(plan);
	return data[0][0];
}
