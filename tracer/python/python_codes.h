/* What code objects say: their functions and lines, each read once. */
#pragma once

#include "tracer/python/python_locations.h"
#include "tracer/python/python_runtime.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* One function, of however many processes and code objects. */
struct python_function {
	char *name;          /* as co_qualname: "Class.method", "outer.<locals>.inner" */
	char *file;          /* as co_filename */
	uint32_t first_line; /* of its definition, decorators included */
};

struct python_codes;
struct python_codes *python_codes_create(void);
void python_codes_destroy(struct python_codes *codes);

#define PYTHON_NO_FUNCTION UINT32_MAX
/* The function and the line of the code object at `address`, whose first layout.code_size bytes are
 * `bytes`; `instruction`: the address that its frame is at.  False where it is no code object, or
 * cannot be read, or memory is short. */
bool python_codes_look(struct python_codes *codes, pid_t pid, const struct python_runtime *runtime,
		       uint64_t address, const uint8_t *bytes, uint64_t instruction,
		       uint32_t *function, uint32_t *line);

/* Function number `function`; valid until the next look. */
const struct python_function *python_codes_function(const struct python_codes *codes,
						    uint32_t function);
