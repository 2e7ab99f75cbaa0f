/* One child for all places of a module. */
#include "symbols/call_sites.h"

#include "base/confined.h"
#include "symbols/elf_file.h"
#include "symbols/symbols.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define READER_SECONDS 300

enum { SITE = 1 }; /* index, line, name, file */

struct question {
	const struct profile_module *module;
	struct call_site *sites;
	size_t n;
};

static void answer_site(FILE *answer, struct symbol_module *symbols, size_t i, uint64_t address)
{
	struct symbol symbol;
	const char *file = "";
	uint32_t line = 0;
	if (!symbol_find(symbols, address, &symbol))
		return;
	(void)symbol_caller_line(symbols, address, &file, &line);
	confined_put_tag(answer, SITE);
	confined_put_number(answer, i);
	confined_put_number(answer, line);
	confined_put_text(answer, strstr(symbol.name, "+0x") ? "" : symbol.name);
	confined_put_text(answer, file);
}

static void read_sites(void *context, FILE *answer)
{
	const struct question *question = context;
	const struct profile_module *module = question->module;
	struct symbol_module *symbols = NULL;
	rf_error_destroy(symbol_module_read(module->path, CONFINED_FD, NULL, &symbols));
	const bool is_same =
		symbols && (!module->build_id[0] ||
			    strcmp(symbol_module_build_id(symbols), module->build_id) == 0);
	for (size_t i = 0; is_same && i < question->n; i++)
		answer_site(answer, symbols, i, question->sites[i].address);
	symbol_module_close(symbols);
}

static bool take_site(struct confined *child, const struct question *question)
{
	const uint64_t i = confined_number(child), line = confined_number(child);
	char *name = confined_text(child), *file = confined_text(child);
	struct call_site *site = name && file && i < question->n ? &question->sites[i] : NULL;
	if (!site || site->name) {
		free(name);
		free(file);
		return false;
	}
	site->name = name;
	site->file = file;
	site->line = line <= UINT32_MAX ? (uint32_t)line : 0;
	return true;
}

void call_sites_name(struct profile *profile, uint32_t module, struct call_site *sites, size_t n)
{
	struct question question = {&profile->modules[module], sites, n};
	const char *path = question.module->path, *why = NULL;
	struct confined *child = NULL;
	uint8_t tag = 0;
	int fd = -1;
	struct rf_error *error = n ? elf_file_descriptor(path, &fd) : NULL;
	const struct confined_job job = {fd, NULL, read_sites, &question, READER_SECONDS};
	if (fd >= 0) /* what is gone is no trouble */
		error = confined_create(&job, &child);
	while (child && (tag = confined_next(child)) == SITE && take_site(child, &question))
		;
	if (child)
		why = tag ? "its reader's answer makes no sense" : confined_failure(child);
	else if (fd >= 0)
		why = error->message;
	if (why)
		profile_note_unread(profile, path, why);
	rf_error_destroy(error);
	confined_destroy(child);
	if (fd >= 0)
		close(fd);
}
