/* What is kept are the stamps and paths of the places where debug files are looked for, and the
 * answers as the children wrote them.  They are taken by the same code in both cases. */
#include "symbols/kept_answers.h"

#include "base/array.h"
#include "base/search.h"

#include <assert.h>
#include <string.h>

enum { QUESTION = ANSWER_TAGS, PLACE, LASTING }; /* question; used, path; nothing */

/* More than any module has; a child that names more keeps nothing. */
enum { MAX_PLACES = 64 };

struct known_answer {
	uint64_t question;
	size_t at, size; /* in `bytes` */
};

struct known_place {
	char *path;
	bool used;
};

/* What is kept of one module, and what is new. */
struct known {
	const struct asking *asking;
	struct known_answer *answers; /* up to n_sorted by question; new ones behind */
	size_t n_answers, cap_answers, n_sorted;
	uint8_t *bytes;
	size_t n_bytes, cap_bytes;
	struct known_place *places;
	size_t n_places, cap_places;
	bool failed, is_lasting;
};

static void known_clear(struct known *known)
{
	for (size_t i = 0; i < known->n_places; i++)
		free(known->places[i].path);
	known->n_places = known->n_answers = known->n_sorted = known->n_bytes = 0;
}

static void known_deinit(struct known *known)
{
	known_clear(known);
	free(known->places);
	free(known->answers);
	free(known->bytes);
}

static const struct known_answer *find(const struct known *known, uint64_t question)
{
	const size_t at = rf_search(known->n_sorted, i, known->answers[i].question < question);
	return at < known->n_sorted && known->answers[at].question == question ? &known->answers[at]
									       : NULL;
}

static bool put_bytes(struct known *known, const void *bytes, size_t size)
{
	while (known->cap_bytes - known->n_bytes < size)
		if (!rf_array_reserve((void **)&known->bytes, known->cap_bytes, &known->cap_bytes,
				      sizeof(*known->bytes)))
			return false;
	if (size)
		memcpy(known->bytes + known->n_bytes, bytes, size);
	known->n_bytes += size;
	return true;
}

static void add_answer(struct known *known, uint64_t question, const void *bytes, size_t size)
{
	const struct known_answer new = {question, known->n_bytes, size};
	known->failed |= !put_bytes(known, bytes, size) ||
			 !rf_array_push(known->answers, known->n_answers, known->cap_answers, new);
}

static void add_place(struct known *known, const char *path, bool used)
{
	for (size_t i = 0; i < known->n_places; i++)
		if (strcmp(known->places[i].path, path) == 0) {
			known->places[i].used |= used;
			return;
		}
	const struct known_place new = {strdup(path), used};
	if (known->n_places < MAX_PLACES && new.path &&
	    rf_array_push(known->places, known->n_places, known->cap_places, new))
		return;
	free(new.path);
	known->failed = true;
}

/* ---- what is kept ---- */

struct cursor {
	const char *at, *end;
};

static const void *take(struct cursor *cursor, uint64_t size)
{
	const char *bytes = cursor->at;
	if ((uint64_t)(cursor->end - cursor->at) < size)
		return NULL;
	cursor->at += size;
	return bytes;
}

static bool take_number(struct cursor *cursor, uint64_t *number)
{
	const void *bytes = take(cursor, sizeof(*number));
	if (bytes)
		memcpy(number, bytes, sizeof(*number));
	return bytes;
}

enum { HOLDS, IS_OLD, IS_BROKEN };

static int parse_place(struct cursor *cursor, struct known *known)
{
	uint64_t used, size;
	struct file_stamp then;
	const void *stamp = take(cursor, sizeof(then));
	const char *path = stamp && take_number(cursor, &used) && take_number(cursor, &size)
				   ? take(cursor, size)
				   : NULL;
	if (!path || !size || path[size - 1])
		return IS_BROKEN;
	memcpy(&then, stamp, sizeof(then));
	const struct file_stamp now = file_stamp_of_path(path);
	add_place(known, path, used);
	return memcmp(&now, &then, sizeof(now)) == 0 ? HOLDS : IS_OLD;
}

static int parse(struct cursor cursor, struct known *known)
{
	uint64_t n_places, n_answers, question, size;
	int state = take_number(&cursor, &n_places) ? HOLDS : IS_BROKEN;
	for (uint64_t i = 0; i < n_places && state == HOLDS; i++)
		state = parse_place(&cursor, known);
	if (state == HOLDS && !take_number(&cursor, &n_answers))
		state = IS_BROKEN;
	for (uint64_t i = 0; state == HOLDS && i < n_answers; i++) {
		const void *bytes = take_number(&cursor, &question) && take_number(&cursor, &size)
					    ? take(&cursor, size)
					    : NULL;
		const size_t n = known->n_answers;
		if (!bytes || (n && known->answers[n - 1].question >= question))
			return IS_BROKEN;
		add_answer(known, question, bytes, size);
	}
	return state;
}

static void load(struct known *known)
{
	struct kept_store *store = known->asking->store;
	struct kept_bytes file;
	if (!store || !kept_store_load(store, &known->asking->key, &file))
		return;
	const int state = parse((struct cursor){file.bytes, file.bytes + file.size}, known);
	kept_bytes_release(&file);
	if (state == IS_BROKEN)
		kept_store_is_broken(store, &known->asking->key);
	if (state != HOLDS || known->failed)
		known_clear(known);
	known->n_sorted = known->n_answers;
	known->failed = false;
}

static bool write_places(const struct known *known, FILE *stream)
{
	for (size_t i = 0; i < known->n_places; i++) {
		const struct known_place *place = &known->places[i];
		const struct file_stamp stamp = file_stamp_of_path(place->path);
		const uint64_t numbers[] = {place->used, strlen(place->path) + 1};
		if (!file_stamp_is_settled(&stamp) || (place->used && !stamp.inode))
			return false;
		fwrite(&stamp, sizeof(stamp), 1, stream);
		fwrite(numbers, sizeof(numbers), 1, stream);
		fwrite(place->path, 1, numbers[1], stream);
	}
	return true;
}

static int compare_answers(const void *left, const void *right)
{
	const struct known_answer *a = left, *b = right;
	return rf_compare(a->question, b->question);
}

static void save(struct known *known)
{
	char *bytes = NULL;
	size_t size = 0;
	const uint64_t n_places = known->n_places, n_answers = known->n_answers;
	FILE *stream = known->failed ? NULL : open_memstream(&bytes, &size);
	if (!stream)
		return;
	qsort(known->answers, known->n_answers, sizeof(*known->answers), compare_answers);
	fwrite(&n_places, sizeof(n_places), 1, stream);
	bool whole = write_places(known, stream);
	fwrite(&n_answers, sizeof(n_answers), 1, stream);
	for (size_t i = 0; i < known->n_answers; i++) {
		const struct known_answer *answer = &known->answers[i];
		const uint64_t numbers[] = {answer->question, answer->size};
		fwrite(numbers, sizeof(numbers), 1, stream);
		if (answer->size)
			fwrite(known->bytes + answer->at, 1, answer->size, stream);
	}
	whole &= !ferror(stream);
	if (fclose(stream) == 0 && whole)
		kept_store_save(known->asking->store, &known->asking->key, bytes, size);
	free(bytes);
}

/* ---- what is answered ---- */

/* Takes all items of an answer.  `collected` (or NULL) gets those to its questions. */
static bool take_answer(const struct asking *asking, struct confined *child,
			struct known *collected)
{
	uint64_t question = 0;
	uint8_t tag;
	bool right = true, begun = false;
	const void *bytes = NULL;
	size_t size = 0;
	while (right && (tag = confined_next(child)) != 0) {
		if (tag < QUESTION) {
			right = begun && asking->take(asking->context, child, tag, question);
			if (collected)
				collected->failed |= !confined_recorded(child, &bytes, &size);
			continue;
		}
		if (begun && collected && !collected->failed) {
			(void)confined_recorded(child, &bytes, &(size_t){0});
			add_answer(collected, question, bytes, size);
		}
		begun = tag == QUESTION;
		size = 0;
		if (begun) {
			question = confined_number(child);
			confined_record(child);
		} else if (tag == PLACE) {
			const bool used = confined_number(child);
			char *path = confined_text(child);
			if (path && collected)
				add_place(collected, path, used);
			free(path);
		} else {
			right = tag == LASTING;
			if (collected)
				collected->is_lasting = right;
		}
	}
	return right;
}

/* By what is kept: written once more as a child would have. */
static struct rf_error *replay(const struct known *known, const uint64_t *questions, size_t n)
{
	char *bytes = NULL;
	size_t size = 0;
	struct confined *answer;
	FILE *stream = open_memstream(&bytes, &size);
	if (!stream)
		return rf_error_no_memory();
	for (size_t i = 0; i < n; i++) {
		const struct known_answer *there = find(known, questions[i]);
		if (!there || !there->size || (i && questions[i - 1] == questions[i]))
			continue;
		answer_question(stream, questions[i]);
		fwrite(known->bytes + there->at, 1, there->size, stream);
	}
	fputc(CONFINED_END, stream);
	const bool failed = ferror(stream);
	if (fclose(stream) != 0 || failed) {
		free(bytes);
		return rf_error_no_memory();
	}
	struct rf_error *error = confined_replay(bytes, size, &answer);
	if (!error && !take_answer(known->asking, answer, NULL) && known->asking->store)
		kept_store_is_broken(known->asking->store, &known->asking->key);
	if (!error)
		confined_destroy(answer);
	free(bytes);
	return error;
}

/* What the child reads. */
struct job {
	const struct asking *asking;
	const uint64_t *questions;
	size_t n;
};

static void read_in_child(void *context, FILE *answer)
{
	const struct job *job = context;
	job->asking->read(job->asking->context, job->questions, job->n, answer);
}

/* Puts what a child has answered to those of `questions` among what is known: nothing where it
 * has said nothing. */
static void merge(struct known *known, struct known *new, const uint64_t *questions, size_t n)
{
	if (new->n_answers)
		qsort(new->answers, new->n_answers, sizeof(*new->answers), compare_answers);
	for (size_t i = 0, at = 0; i < n; i++) {
		const size_t begin = known->n_bytes;
		while (at < new->n_answers &&new->answers[at].question < questions[i])
			at++;
		for (; at < new->n_answers &&new->answers[at].question == questions[i]; at++)
			known->failed |= !put_bytes(known, new->bytes + new->answers[at].at,
						    new->answers[at].size);
		const struct known_answer answer = {questions[i], begin, known->n_bytes - begin};
		known->failed |= !rf_array_push(known->answers, known->n_answers,
						known->cap_answers, answer);
	}
	for (size_t i = 0; i < new->n_places; i++)
		add_place(known, new->places[i].path, new->places[i].used);
}

static struct rf_error *ask_child(struct known *known, int fd, const uint64_t *questions, size_t n,
				  char **trouble)
{
	const struct asking *asking = known->asking;
	struct job job = {asking, questions, n};
	const struct confined_job confined = {fd, NULL, read_in_child, &job, asking->seconds};
	struct known new = {.asking = asking};
	struct confined *child;
	struct rf_error *error = confined_create(&confined, &child);
	if (error)
		return error;
	const bool right = take_answer(asking, child, asking->store ? &new : NULL);
	const char *failure =
		right ? confined_failure(child) : "its reader's answer makes no sense";
	*trouble = failure ? strdup(failure) : NULL;
	confined_destroy(child);
	if (!failure && new.is_lasting && !new.failed) {
		merge(known, &new, questions, n);
		save(known);
	}
	known_deinit(&new);
	return NULL;
}

struct rf_error *kept_answers_ask(const struct asking *asking, int fd, const uint64_t *questions,
				  size_t n, char **trouble)
{
	struct known known = {.asking = asking};
	uint64_t *open = calloc(n + 1, sizeof(*open));
	size_t n_open = 0;
	*trouble = NULL;
	if (!open)
		return rf_error_no_memory();
	load(&known);
	for (size_t i = 0; i < n; i++) {
		assert(!i || questions[i - 1] <= questions[i]);
		if (!find(&known, questions[i]) && (!n_open || open[n_open - 1] != questions[i]))
			open[n_open++] = questions[i];
	}
	struct rf_error *error = n_open < n ? replay(&known, questions, n) : NULL;
	if (!error && n_open)
		error = ask_child(&known, fd, open, n_open, trouble);
	known_deinit(&known);
	free(open);
	return error;
}

/* ---- in the child ---- */

void answer_question(FILE *answer, uint64_t question)
{
	confined_put_tag(answer, QUESTION);
	confined_put_number(answer, question);
}

void answer_place(FILE *answer, const char *path, bool used)
{
	confined_put_tag(answer, PLACE);
	confined_put_number(answer, used);
	confined_put_text(answer, path);
}

void answer_is_lasting(FILE *answer)
{
	confined_put_tag(answer, LASTING);
}

void answer_places(FILE *answer, const struct module_files *files)
{
	for (size_t i = 0; i < files->n_places; i++)
		answer_place(answer, files->places[i].path, files->places[i].used);
	if (!files->forgets)
		answer_is_lasting(answer);
}
