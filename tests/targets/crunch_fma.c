/* FMA scalar, 128 and 256 bits wide, in all its operand orders and signs. */
#include "crunch_fma.h"

CRUNCH_FMA(fma_double_scalar, vfmadd231sd, xmm);
CRUNCH_FMA(fma_double_128, vfnmadd213pd, xmm);
CRUNCH_FMA(fma_double_256, vfmadd132pd, ymm);
CRUNCH_FMA(fma_single_scalar, vfmsub231ss, xmm);
CRUNCH_FMA(fma_single_128, vfmaddsub213ps, xmm);
CRUNCH_FMA(fma_single_256, vfnmsub231ps, ymm);

int main(void)
{
	NEED("fma");
	crunch_fma("fma_double_scalar", fma_double_scalar, 1, "fma_double_scalar");
	crunch_fma("fma_double_128", fma_double_128, 2, "fma_double_128");
	crunch_fma("fma_double_256", fma_double_256, 4, "fma_double_256");
	crunch_fma("fma_single_scalar", fma_single_scalar, 1, "fma_single_scalar");
	crunch_fma("fma_single_128", fma_single_128, 4, "fma_single_128");
	crunch_fma("fma_single_256", fma_single_256, 8, "fma_single_256");
	return 0;
}
