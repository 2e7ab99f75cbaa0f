/* What children have answered about single addresses of a module, kept between runs: each question
 * is asked once, as long as the module's file and its debug files stay as they are. */
#pragma once

#include "base/confined.h"
#include "base/kept_store.h"
#include "symbols/debug_file.h"

#include <stddef.h>
#include <stdint.h>

/* Questions of one kind about one module. */
struct asking {
	struct kept_store *store; /* NULL: nothing is kept */
	struct kept_key key;
	/* In a child (base/confined.h): answers `questions`, each by answer_question and then items
	 * of tags below ANSWER_TAGS, and ends with answer_places if it read all that it should. */
	void (*read)(void *context, const uint64_t *questions, size_t n, FILE *answer);
	/* Takes an item of the answer to `question`.  False: it makes no sense. */
	bool (*take)(void *context, struct confined *child, uint8_t tag, uint64_t question);
	void *context;
	unsigned seconds; /* for the child */
};

#define ANSWER_TAGS 250

/* Has each of `questions`, which ascend, answered once: by what is kept, or by a child that reads
 * `fd`, the module's file.  *trouble, to be freed: why some are not answered, or NULL. */
struct rf_error *kept_answers_ask(const struct asking *asking, int fd, const uint64_t *questions,
				  size_t n, char **trouble);

/* ---- in the child ---- */

void answer_question(FILE *answer, uint64_t question);
/* The places on which the answers depend, besides the module's file; used: the file that is there
 * was read. */
void answer_place(FILE *answer, const char *path, bool used);
/* All of them have been named: what was answered holds as long as they stay as they are. */
void answer_is_lasting(FILE *answer);
/* Both for the files of a module, unless some of the places are not known. */
void answer_places(FILE *answer, const struct module_files *files);
