/* The kernel's vdso as this process sees it; every process of one kernel has the same image. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* The image's bytes, readable while the process lives.  False when there is no vdso. */
bool vdso_image(const void **image, size_t *size);
