/* Finding an interpreter in a process: by the dynamic symbols of a mapped executable or library, as
 * they are in the process's own memory, so that no file has to be opened. */
#pragma once

#include "tracer/python/python_layout.h"

#include <stdint.h>
#include <sys/types.h>

struct python_runtime {
	uint64_t address;   /* of _PyRuntime */
	uint64_t code_type; /* of PyCode_Type: what the type of a code object points to */
	struct python_layout layout;
};

enum python_runtime_result {
	RUNTIME_FOUND,
	RUNTIME_NONE,      /* there is no interpreter in it, or none of a known version */
	RUNTIME_UNREADABLE /* not yet, or no more: errno says why (0: what was read makes no sense)
			    */
};
/* `image`: where the first byte of the file is mapped.  The version is what Py_Version says; where
 * there is no such symbol, what the file's `name` says ("libpython3.11.so.1.0").  The symbols must
 * have a hash table of GNU's kind, as linkers make it for Linux. */
enum python_runtime_result python_runtime_find(pid_t pid, uint64_t image, const char *name,
					       struct python_runtime *out);
