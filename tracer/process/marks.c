/* The names of the functions between which a span lies. */
#include "tracer/process/marks.h"

#include "symbols/demangle.h"

#include <stdlib.h>
#include <string.h>

void marks_deinit(struct marks *marks)
{
	named_functions_destroy(marks->files);
	marks->files = NULL;
}

static bool is_called(const char *raw, const char *name)
{
	const size_t length = strcspn(raw, "@");
	if (strncmp(raw, name, length) == 0 && !name[length])
		return true;
	if (raw[0] != '_' || !strpbrk(raw + 1, "ZR")) /* nothing mangled */
		return false;
	char *text = symbol_demangle(raw);
	const size_t whole = text ? strlen(text) : 0, bare = text ? strcspn(text, "(") : 0;
	const size_t wanted = strlen(name);
	const bool is =
		text && (wanted == whole || wanted == bare) && strncmp(text, name, wanted) == 0;
	free(text);
	return is;
}

static bool is_named(const void *context, int number, const char *symbol)
{
	const struct marks *marks = context;
	return marks->names[number] && is_called(symbol, marks->names[number]);
}

uint64_t marks_vaddr(struct marks *marks, const struct module_file *file, enum mark mark)
{
	const struct function_names names = {.n = N_MARKS, .is_named = is_named, .context = marks};
	if (!marks->files)
		marks->files = named_functions_create(&names);
	return file && marks->files ? named_functions_vaddr(marks->files, file, mark) : 0;
}
