/* What a data object is called. */
#include "report/reasons/object_words.h"

#include "report/rows/code_names.h"
#include "report/rows/view.h"

#include <stdio.h>

static const char *known_name(const struct profile_object *object, const char *otherwise)
{
	return object->name[0] ? object->name : otherwise;
}

/* " (mesh.c:88)", " of libm.so", " (a.out+0x12)" or "". */
static void put_place(const struct profile *profile, const struct profile_object *object,
		      char *text, size_t size)
{
	*text = '\0';
	if (object->file[0])
		snprintf(text, size, " (%.100s:%u)", report_base_name(object->file), object->line);
	else if (object->module != PROFILE_NONE && object->kind == OBJECT_STATIC)
		snprintf(text, size, " of %.80s", profile->modules[object->module].name);
	else if (object->module != PROFILE_NONE)
		snprintf(text, size, " (%.80s+0x%llx)", profile->modules[object->module].name,
			 (unsigned long long)object->offset);
}

void report_object_words(const struct profile *profile, const struct profile_object *object,
			 char *text, size_t size)
{
	const bool allocated = object->kind == OBJECT_HEAP || object->kind == OBJECT_MAPPING;
	const char *name = known_name(object, "unknown code");
	char bytes[64], place[160];
	report_put_bytes(bytes, (double)object->bytes);
	put_place(profile, object, place, sizeof(place));
	if (allocated && object->module == PROFILE_NONE)
		snprintf(text, size, "%.80s", known_name(object, "memory of unknown origin"));
	else if (allocated)
		snprintf(text, size, "%s that %.80s%s %s", bytes, name, place,
			 object->kind == OBJECT_HEAP ? "allocates" : "maps");
	else if (object->kind == OBJECT_STATIC)
		snprintf(text, size, "the variable %.80s%s, %s", name, place, bytes);
	else
		snprintf(text, size, "%s",
			 object->kind == OBJECT_STACK  ? "the stack"
			 : object->kind == OBJECT_CODE ? "code"
						       : "data of unknown origin");
}
