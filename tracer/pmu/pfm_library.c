/* Loads libpfm4 once, for good. */
#include "tracer/pmu/pfm_library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#define PFM_SONAME "libpfm.so.4"

static struct pfm_library library;
static bool is_there;

static void load(void)
{
	int (*initialize)(void);
	void *handle = dlopen(PFM_SONAME, RTLD_NOW | RTLD_LOCAL);
	if (!handle)
		return;
	*(void **)&initialize = dlsym(handle, "pfm_initialize");
	*(void **)&library.pmu_info = dlsym(handle, "pfm_get_pmu_info");
	*(void **)&library.encode = dlsym(handle, "pfm_get_os_event_encoding");
	*(void **)&library.error = dlsym(handle, "pfm_strerror");
	is_there = initialize && library.pmu_info && library.encode && library.error &&
		   initialize() == PFM_SUCCESS;
}

const struct pfm_library *pfm_library(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, load);
	return is_there ? &library : NULL;
}
