/* Names of the libraries of the system. */
#include "profile/system_modules.h"

#include "profile/profile.h"

#include <stddef.h>
#include <string.h>

bool profile_is_system_module(const char *name)
{
	static const char *const names[] = {
		"libc.so",
		"libc-",
		"libc.musl",
		"libpthread",
		"ld-linux",
		"ld-musl",
		"ld.so",
		"ld-2.",
		"libm.so",
		"libm-",
		"librt",
		"libdl",
		"libgcc_s",
		"libstdc++",
		"libc++",
		"libgomp",
		"libomp",
		"libiomp",
		"libasan",
		"libtsan",
		"[vdso]",
		"[vsyscall]",
		PROFILE_KERNEL_MODULE,
	};
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strncmp(name, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}
