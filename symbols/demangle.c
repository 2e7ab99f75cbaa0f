/* Which demangler takes a name, and what is left out of it. */
#include "symbols/demangle.h"

#include <libiberty/demangle.h>
#include <stdlib.h>
#include <string.h>

/* libiberty demangles recursively and refuses names over 1024 characters by itself.  Expression
 * templates (Eigen, Boost) go beyond that; a name up to this length fits the stack safely. */
#define LONGEST_DEMANGLED 4096

char *symbol_demangle(const char *raw)
{
	/* "memcpy@@GLIBC_2.14" → "memcpy"; a name that starts with '@' has no version. */
	const char *at = raw[0] ? strchr(raw + 1, '@') : NULL;
	char *plain = at ? strndup(raw, at - raw) : strdup(raw);
	if (!plain || plain[0] != '_' || strlen(plain) > LONGEST_DEMANGLED)
		return plain;
	/* Rust first: its legacy names are well-formed C++ names with a hash as last part. */
	char *readable = rust_demangle(plain, DMGL_NO_RECURSE_LIMIT);
	if (!readable)
		readable =
			cplus_demangle_v3(plain, DMGL_PARAMS | DMGL_ANSI | DMGL_NO_RECURSE_LIMIT);
	if (!readable)
		return plain;
	free(plain);
	return readable;
}
