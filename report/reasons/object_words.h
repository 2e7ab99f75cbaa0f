/* What a data object is called. */
#pragma once

#include "profile/profile.h"

/* "the 96.0 MB that main (mesh.c:88) allocates"; not clean. */
void report_object_words(const struct profile *profile, const struct profile_object *object,
			 char *text, size_t size);
