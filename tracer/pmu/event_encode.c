/* Names of events into what perf_event_open takes, by libpfm4. */
#include "tracer/pmu/event_encode.h"

#include <perfmon/pfmlib_perf_event.h>

struct rf_error *event_encode(const char *event, struct perf_event_attr *attr)
{
	struct perf_event_attr encoded = {.size = sizeof(encoded)};
	pfm_perf_encode_arg_t argument = {.attr = &encoded, .size = sizeof(argument)};
	int status = pfm_initialize();
	if (status == PFM_SUCCESS)
		status = pfm_get_os_event_encoding(event, PFM_PLM3, PFM_OS_PERF_EVENT, &argument);
	if (status != PFM_SUCCESS)
		return rf_error_create(RF_EINPUT, "showevtinfo of the package libpfm4 lists events",
				       "%s: %s", event, pfm_strerror(status));
	*attr = (struct perf_event_attr){
		.type = encoded.type,
		.size = sizeof(*attr),
		.config = encoded.config,
		.config1 = encoded.config1,
		.config2 = encoded.config2,
	};
	return NULL;
}
