/* The environment, and what programs started by execve get of it. */
#pragma once

/* Takes our variables out of the environment, keeping what programs started by execve need.
 * Returns the path of the shared file, or NULL when nobody asks for samples. */
const char *shim_environment_take(void);
