/* One child for all places of a module of which nothing is kept. */
#include "symbols/call_sites.h"

#include "base/search.h"
#include "symbols/elf_file.h"
#include "symbols/kept_answers.h"
#include "symbols/symbols.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define READER_SECONDS 300

enum { SITE = 1 }; /* line, name, file */

struct question {
	const struct profile_module *module;
	struct call_site *sites; /* by address */
	size_t n;
};

static void answer_site(FILE *answer, struct symbol_module *symbols, uint64_t address)
{
	struct symbol symbol;
	const char *file = "";
	uint32_t line = 0;
	if (!symbol_find(symbols, address, &symbol))
		return;
	(void)symbol_caller_line(symbols, address, &file, &line);
	answer_question(answer, address);
	confined_put_tag(answer, SITE);
	confined_put_number(answer, line);
	confined_put_text(answer, strstr(symbol.name, "+0x") ? "" : symbol.name);
	confined_put_text(answer, file);
}

static void read_sites(void *context, const uint64_t *addresses, size_t n, FILE *answer)
{
	const struct question *question = context;
	const struct profile_module *module = question->module;
	struct symbol_module *symbols = NULL;
	const char *place;
	bool used;
	rf_error_destroy(symbol_module_read(module->path, CONFINED_FD, NULL, &symbols));
	if (!symbols)
		return;
	if (!module->build_id[0] || strcmp(symbol_module_build_id(symbols), module->build_id) == 0)
		for (size_t i = 0; i < n; i++)
			answer_site(answer, symbols, addresses[i]);
	for (size_t i = 0; (place = symbol_module_place(symbols, i, &used)); i++)
		answer_place(answer, place, used);
	if (symbol_module_is_lasting(symbols))
		answer_is_lasting(answer);
	symbol_module_close(symbols);
}

static bool take_site(void *context, struct confined *child, uint8_t tag, uint64_t address)
{
	const struct question *question = context;
	if (tag != SITE)
		return false;
	const uint64_t line = confined_number(child);
	char *name = confined_text(child), *file = confined_text(child);
	const size_t i = rf_search(question->n, k, question->sites[k].address < address);
	struct call_site *site = name && file && i < question->n ? &question->sites[i] : NULL;
	if (!site || site->address != address || site->name) {
		free(name);
		free(file);
		return false;
	}
	site->name = name;
	site->file = file;
	site->line = line <= UINT32_MAX ? (uint32_t)line : 0;
	return true;
}

static struct rf_error *ask(struct question *question, struct kept_store *store, int fd,
			    char **trouble)
{
	struct asking asking = {
		.store = store,
		.key = {question->module->path, question->module->build_id,
			.kind = KEPT_CALL_SITES},
		.read = read_sites,
		.take = take_site,
		.context = question,
		.seconds = READER_SECONDS,
	};
	struct stat status;
	uint64_t *addresses = calloc(question->n, sizeof(*addresses));
	if (!addresses)
		return rf_error_no_memory();
	for (size_t i = 0; i < question->n; i++)
		addresses[i] = question->sites[i].address;
	if (fstat(fd, &status) == 0)
		asking.key.stamp = file_stamp_of(&status);
	else
		asking.store = NULL;
	struct rf_error *error = kept_answers_ask(&asking, fd, addresses, question->n, trouble);
	free(addresses);
	return error;
}

void call_sites_name(struct profile *profile, uint32_t module, struct kept_store *store,
		     struct call_site *sites, size_t n)
{
	struct question question = {&profile->modules[module], sites, n};
	const char *path = question.module->path;
	char *trouble = NULL;
	int fd = -1;
	struct rf_error *error = n ? elf_file_descriptor(path, &fd) : NULL;
	if (fd >= 0) { /* what is gone is no trouble */
		error = ask(&question, store, fd, &trouble);
		close(fd);
		if (error || trouble)
			profile_note_unread(profile, path, error ? error->message : trouble);
	}
	free(trouble);
	rf_error_destroy(error);
}
