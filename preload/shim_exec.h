/* The environment, and what programs started by execve get of it. */
#pragma once

#include <dlfcn.h>

/* For functions of libc that the shim wraps: seen by the program, and the one of this name that it
 * would have called. */
#define EXPORT __attribute__((visibility("default")))
#ifdef OLDEST_DLSYM
__asm__(".symver dlsym, dlsym@GLIBC_2.2.5"); /* every one since has it */
#endif
#define ORIGINAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

/* Takes our variables out of the environment, keeping what programs started by execve need.
 * Returns the path of the shared file, or NULL when nobody asks for samples. */
const char *shim_environment_take(void);
