/* For functions of libc that the shim wraps. */
#pragma once

#include <dlfcn.h>

/* Seen by the program. */
#define EXPORT __attribute__((visibility("default")))
/* The function of this name that the program would have called. */
#define ORIGINAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
