/* 100 complex transforms with FFTW; the argument is their length. */
#include <fftw3.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 4096, calls = argc > 2 ? atoi(argv[2]) : 100;
	fftw_complex *in = fftw_alloc_complex(n), *out = fftw_alloc_complex(n);
	/* Estimated, not measured: the same plan in every run. */
	fftw_plan plan = fftw_plan_dft_1d(n, in, out, FFTW_FORWARD, FFTW_ESTIMATE);

	for (int i = 0; i < n; i++) {
		in[i][0] = i % 13;
		in[i][1] = i % 11;
	}
	for (int call = 0; call < calls; call++)
		fftw_execute(plan);
	printf("%.12g %.12g\n", out[1][0], out[n / 2][1]);
	fftw_destroy_plan(plan);
	fftw_free(in);
	fftw_free(out);
	return 0;
}
