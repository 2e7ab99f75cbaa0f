/* Stubs of the procedure linkage table: "memcpy@plt". */
#pragma once

#include "symbols/elf_file.h"
#include "symbols/function_map.h"

/* Adds each stub in .plt, .plt.sec, .plt.got and .iplt whose target can be told to an unsettled
 * list.  `known` names the targets of IRELATIVE slots.  Fails only when memory is short. */
struct rf_error *plt_read(const struct elf_file *file, const struct function_map *known,
			  struct function_map *stubs);
