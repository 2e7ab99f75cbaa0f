/* Transforms n complex numbers so many times. */
#include <fftw3.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	const int n = argc > 1 ? atoi(argv[1]) : 64, calls = argc > 2 ? atoi(argv[2]) : 1;
	fftw_complex *in = fftw_malloc(sizeof(*in) * (size_t)n),
		     *out = fftw_malloc(sizeof(*out) * (size_t)n);
	fftw_plan plan = fftw_plan_dft_1d(n, in, out, FFTW_FORWARD, FFTW_ESTIMATE);
	for (int i = 0; i < n; i++)
		in[i][0] = in[i][1] = i;
	for (int i = 0; i < calls; i++)
		fftw_execute(plan);
	return 0;
}
