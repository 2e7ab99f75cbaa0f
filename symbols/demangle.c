/* Which demangler takes a name, and what is left out of it. */
#include "symbols/demangle.h"

#include <libiberty/demangle.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* libiberty demangles recursively and refuses names over 1024 characters by itself.  Expression
 * templates (Eigen, Boost) go beyond that; a name up to this length fits the stack safely. */
#define LONGEST_DEMANGLED 4096

/* "memcpy@@GLIBC_2.14" → "memcpy"; a name that starts with '@' has no version. */
static char *without_version(const char *raw)
{
	const char *at = raw[0] ? strchr(raw + 1, '@') : NULL;
	return at ? strndup(raw, at - raw) : strdup(raw);
}

/* "__mesh_MOD_smooth.constprop.0" → "mesh::smooth.constprop.0", or NULL. */
static char *fortran_demangle(const char *plain)
{
	static const char between[] = "_MOD_";
	const char *module = plain + 2, *found = strstr(plain, between);
	char *readable;
	if (strncmp(plain, "__", 2) != 0 || !found || found <= module ||
	    !found[sizeof(between) - 1])
		return NULL;
	return asprintf(&readable, "%.*s::%s", (int)(found - module), module,
			found + sizeof(between) - 1) < 0
		       ? NULL
		       : readable;
}

char *symbol_demangle(const char *raw)
{
	char *plain = without_version(raw);
	if (!plain || plain[0] != '_' || strlen(plain) > LONGEST_DEMANGLED)
		return plain;
	/* Rust first: its legacy names are well-formed C++ names with a hash as last part. */
	char *readable = rust_demangle(plain, DMGL_NO_RECURSE_LIMIT);
	if (!readable)
		readable =
			cplus_demangle_v3(plain, DMGL_PARAMS | DMGL_ANSI | DMGL_NO_RECURSE_LIMIT);
	if (!readable && plain[1] == 'D')
		readable = dlang_demangle(plain, 0);
	if (!readable)
		readable = fortran_demangle(plain);
	if (!readable)
		return plain;
	free(plain);
	return readable;
}

/* libiberty puts what it does not know between angle brackets. */
char *symbol_demangle_ada(const char *raw)
{
	char *plain = without_version(raw);
	const bool long_name = plain && strlen(plain) > LONGEST_DEMANGLED;
	char *readable = plain && !long_name ? ada_demangle(plain, 0) : NULL;
	if (readable && readable[0] != '<') {
		free(plain);
		return readable;
	}
	free(readable);
	free(plain);
	return symbol_demangle(raw);
}
