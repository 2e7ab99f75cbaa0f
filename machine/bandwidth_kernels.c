#include "machine/bandwidth_kernels.h"

#include "machine/cpu_features.h"

#include <string.h>

#define ARRAYS_read 1
#define ARRAYS_write 1
#define ARRAYS_copy 2
#define ARRAYS_triad 3
#define ARRAYS_write_nt 1
#define ARRAYS_copy_nt 2
#define ARRAYS_triad_nt 3
#define NON_TEMPORAL_read false
#define NON_TEMPORAL_write false
#define NON_TEMPORAL_copy false
#define NON_TEMPORAL_triad false
#define NON_TEMPORAL_write_nt true
#define NON_TEMPORAL_copy_nt true
#define NON_TEMPORAL_triad_nt true

#define DECLARE(isa, op, streams, needs)                                                  \
	void rf_bandwidth_##isa##_##op##_##streams(void *, const void *, const void *, size_t, \
						   uint64_t, struct bandwidth_state *);
BANDWIDTH_KERNELS(DECLARE)

#define ROW(isa_, op_, streams_, needs_)                                                      \
	{                                                                                     \
		.isa = #isa_, .op = #op_, .streams = streams_, .arrays = ARRAYS_##op_,        \
		.needs = (needs_), .non_temporal = NON_TEMPORAL_##op_,                        \
		.run = rf_bandwidth_##isa_##_##op_##_##streams_,                              \
	},
const struct bandwidth_kernel bandwidth_kernels[] = { BANDWIDTH_KERNELS(ROW) };
const size_t n_bandwidth_kernels = sizeof(bandwidth_kernels) / sizeof(bandwidth_kernels[0]);

void bandwidth_state_init(struct bandwidth_state *state)
{
	memset(state, 0, sizeof(*state));
	for (size_t i = 0; i < sizeof(state->constant) / sizeof(state->constant[0]); i++)
		state->constant[i] = 0x1p-30;
}
