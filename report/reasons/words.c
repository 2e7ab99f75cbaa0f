/* What the model's kinds and data objects are called, the same in all views. */
#include "report/reasons/words.h"

#include "report/rows/code_names.h"

#include <assert.h>
#include <stdio.h>

static const struct {
	const char *name, *title;
} bounds[] = {
	[BOUND_UNKNOWN] = {"unknown", "no roof"},
	[BOUND_UNCOUNTED] = {"uncounted", "uncounted"},
	[BOUND_MEMORY] = {"memory", "memory"},
	[BOUND_COMPUTE] = {"compute", "compute"},
	[BOUND_BALANCED] = {"balanced", "balanced"},
	[BOUND_ISSUE] = {"issue", "instruction issue"},
	[BOUND_LATENCY] = {"latency", "latency"},
	[BOUND_WAITING] = {"waiting", "waiting"},
	[BOUND_KERNEL] = {"kernel", "the kernel's work"},
};

const char *report_bound_name(enum model_bound bound)
{
	assert((size_t)bound < sizeof(bounds) / sizeof(*bounds));
	return bounds[bound].name;
}

const char *report_bound_title(enum model_bound bound)
{
	assert((size_t)bound < sizeof(bounds) / sizeof(*bounds));
	return bounds[bound].title;
}

const char *report_pattern_name(enum model_pattern pattern)
{
	static const char *const names[] = {[PATTERN_STREAM] = "stream",
					    [PATTERN_RANDOM] = "random",
					    [PATTERN_CHASE] = "chase"};
	return names[pattern];
}

const char *report_bound_words(const struct model_place *place, char *text, size_t size)
{
	snprintf(text, size, "%s%s%s", report_bound_name(place->bound),
		 place->bound_or ? " or " : "",
		 place->bound_or ? report_bound_name(place->bound_or) : "");
	return text;
}

const char *report_point_unit(enum model_axis axis)
{
	static const char *const units[] = {
		[AXIS_NONE] = "",
		[AXIS_FLOP] = "GFLOP/s",
		[AXIS_BYTES] = "GB/s",
		[AXIS_INSTRUCTIONS] = "Ginstructions/s",
	};
	return units[axis];
}

const char *report_memory_words(enum model_memory source)
{
	static const char *const words[N_MODEL_MEMORY] = {
		[MEMORY_UNKNOWN] = "unknown",
		[MEMORY_TRACED] = "traced, caches simulated",
		[MEMORY_COUNTED] = "PMU: bytes at memory, sampled by function",
		[MEMORY_SHARED] = ("PMU: an estimate, the program's bytes shared out as the misses "
				   "of the last cache are"),
		[MEMORY_MISSES] = "PMU: misses of the last cache, a lower bound",
	};
	assert((size_t)source < N_MODEL_MEMORY);
	return words[source];
}

/* ---- data objects ---- */

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
	const char *bytes = REPORT_BYTES((double)object->bytes);
	char place[160];
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
