/* 16 TB of shadow memory at an address of its own choice; at its end a process that shares its memory attaches to it
 * and looks for leaks.
 * @flags -fsanitize=address
 * @partly traces it */
#include "sanitized.h"
