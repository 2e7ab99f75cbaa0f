/* What a child that reads can do, and what becomes of its answer when it fails. */
#include "base/confined.h"

#include "base/assert.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { ITEM = 1 };

static struct confined *start(int fd, void (*read)(void *context, FILE *answer), unsigned seconds)
{
	const struct confined_job job = {fd, NULL, read, NULL, seconds};
	struct confined *child;
	cr_assert_null(confined_create(&job, &child));
	return child;
}

/* The numbers that a child answers, one an item; it must succeed. */
static size_t numbers(int fd, void (*read)(void *context, FILE *answer), uint64_t *out, size_t max)
{
	struct confined *child = start(fd, read, 10);
	size_t n = 0;
	while (confined_next(child) == ITEM && n < max)
		out[n++] = confined_number(child);
	cr_expect_null(confined_failure(child), "%s", confined_failure(child));
	confined_destroy(child);
	return n;
}

static void expect_failure(void (*read)(void *context, FILE *answer), unsigned seconds,
			   const char *words)
{
	struct confined *child = start(-1, read, seconds);
	cr_expect_eq(confined_next(child), ITEM);
	cr_expect_eq(confined_number(child), 7);
	cr_expect_eq(confined_next(child), 0);
	const char *why = confined_failure(child);
	cr_expect(why && strstr(why, words), "%s instead of %s", why ? why : "nothing", words);
	confined_destroy(child);
}

static void answer(FILE *stream, uint64_t number)
{
	confined_put_tag(stream, ITEM);
	confined_put_number(stream, number);
}

static void answer_seven(FILE *stream)
{
	answer(stream, 7);
	fflush(stream);
}

/* ---- answers ---- */

static void answer_much(void *context, FILE *stream)
{
	for (uint64_t i = 0; i < 100000; i++)
		answer(stream, i * i);
}

Test(confined, answers_come_whole)
{
	static uint64_t got[100001];
	cr_assert_eq(numbers(-1, answer_much, got, 100001), 100000);
	for (uint64_t i = 0; i < 100000; i++)
		cr_assert_eq(got[i], i * i);
}

static void answer_texts(void *context, FILE *stream)
{
	char *longest = malloc(CONFINED_MAX_TEXT + 10);
	memset(longest, 'x', CONFINED_MAX_TEXT + 9);
	longest[CONFINED_MAX_TEXT + 9] = '\0';
	confined_put_tag(stream, ITEM);
	confined_put_text(stream, "");
	confined_put_text(stream, "a\nb");
	confined_put_text(stream, longest);
}

Test(confined, texts_have_a_limit)
{
	struct confined *child = start(-1, answer_texts, 10);
	cr_assert_eq(confined_next(child), ITEM);
	char *texts[3];
	for (int i = 0; i < 3; i++)
		texts[i] = confined_text(child);
	cr_expect_str_eq(texts[0], "");
	cr_expect_str_eq(texts[1], "a\nb");
	cr_expect_eq(strlen(texts[2]), CONFINED_MAX_TEXT);
	cr_expect_eq(confined_next(child), 0);
	cr_expect_null(confined_failure(child));
	confined_destroy(child);
	for (int i = 0; i < 3; i++)
		free(texts[i]);
}

static void lie_about_length(void *context, FILE *stream)
{
	confined_put_tag(stream, ITEM);
	confined_put_number(stream, UINT64_MAX);
}

Test(confined, a_text_that_cannot_be_is_no_text)
{
	struct confined *child = start(-1, lie_about_length, 10);
	cr_assert_eq(confined_next(child), ITEM);
	cr_expect_null(confined_text(child));
	cr_expect_eq(confined_next(child), 0);
	cr_expect(confined_failure(child));
	confined_destroy(child);
}

/* ---- failures ---- */

static void crash(void *context, FILE *stream)
{
	answer_seven(stream);
	__builtin_trap();
}

static void give_up(void *context, FILE *stream)
{
	answer_seven(stream);
	abort();
}

static void spin(void *context, FILE *stream)
{
	answer_seven(stream);
	for (;;)
		__asm__ volatile("");
}

static void wait_for_ever(void *context, FILE *stream)
{
	char byte;
	int ends[2]; /* made before there was a filter */
	answer_seven(stream);
	ends[0] = *(int *)context;
	(void)!read(ends[0], &byte, 1);
}

static void leave(void *context, FILE *stream)
{
	answer_seven(stream);
	_exit(0);
}

/* As of a library whose lock another thread of rfprof's held. */
static void wait_for_a_lock(void *context, FILE *stream)
{
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	answer_seven(stream);
	pthread_mutex_lock(&mutex);
	pthread_mutex_lock(&mutex);
}

Test(confined, what_came_before_a_failure_is_there)
{
	expect_failure(crash, 10, "ended by signal");
	expect_failure(give_up, 10, "ended by signal");
	expect_failure(leave, 10, "failed");
	expect_failure(spin, 1, "longer than 1 s");
	expect_failure(wait_for_a_lock, 10, "ended by signal");
}

static void do_nothing(void)
{
}

static void do_once(void *context, FILE *stream)
{
	pthread_once_t once = PTHREAD_ONCE_INIT;
	answer(stream, (uint64_t)pthread_once(&once, do_nothing));
}

Test(confined, what_no_other_thread_waits_for_goes_on)
{
	uint64_t status;
	cr_assert_eq(numbers(-1, do_once, &status, 1), 1);
	cr_expect_eq(status, 0);
}

#ifdef RF_SANITIZED
#define STDERR_IS_OPEN 1 /* for what the sanitizer has to say */
#else
#define STDERR_IS_OPEN 0
#endif

#ifdef RF_SANITIZED
static void end_as_a_sanitizer_does(void *context, FILE *stream)
{
	answer_seven(stream);
	_exit(99);
}

Test(confined, a_defect_is_no_failure_of_the_file, .signal = SIGABRT)
{
	expect_failure(end_as_a_sanitizer_does, 10, "failed");
}
#endif

static bool allocates = true;

static void *allocate(void *unused)
{
	void *kept[4096] = {NULL};
	while (__atomic_load_n(&allocates, __ATOMIC_RELAXED))
		for (size_t i = 0; i < 4096; i++) {
			free(kept[i]);
			kept[i] = malloc(4096 + i);
		}
	for (size_t i = 0; i < 4096; i++)
		free(kept[i]);
	return unused;
}

static void allocate_much(void *context, FILE *stream)
{
	void *kept[512];
	for (size_t i = 0; i < 512; i++)
		kept[i] = malloc(4096 + i);
	for (size_t i = 0; i < 512; i++)
		free(kept[i]);
	answer(stream, 1);
}

Test(confined, it_is_made_while_others_allocate)
{
	pthread_t threads[2];
	for (int i = 0; i < 2; i++)
		cr_assert_eq(pthread_create(&threads[i], NULL, allocate, NULL), 0);
	for (int i = 0; i < 20; i++) {
		uint64_t done = 0;
		cr_expect_eq(numbers(-1, allocate_much, &done, 1), 1);
	}
	__atomic_store_n(&allocates, false, __ATOMIC_RELAXED);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}

static int silent[2];

static void open_silent(void *context)
{
	cr_assert_eq(pipe(silent), 0);
}

Test(confined, silence_ends_too)
{
	const struct confined_job job = {-1, open_silent, wait_for_ever, &silent[0], 1};
	struct confined *child;
	cr_assert_null(confined_create(&job, &child));
	cr_expect_eq(confined_next(child), ITEM);
	(void)confined_number(child);
	cr_expect_eq(confined_next(child), 0);
	cr_expect_str_eq(confined_failure(child), "its reader took longer than 1 s");
	confined_destroy(child);
}

/* ---- rights ---- */

/* What it can do: each try answers 1 where it went well. */
static void try_all(void *context, FILE *stream)
{
	char *const arguments[] = {(char *)"/bin/true", NULL};
	answer(stream, open("/tmp", O_WRONLY | O_TMPFILE, 0600) >= 0);
	answer(stream, open("/dev/null", O_RDWR) >= 0);
	answer(stream, socket(AF_UNIX, SOCK_STREAM, 0) >= 0);
	answer(stream, kill(getppid(), 0) == 0);
	answer(stream, syscall(SYS_fork) >= 0);
	answer(stream, execv("/bin/true", arguments) == 0);
	answer(stream, unlink("/tmp/rfprof-is-not-there") == 0 || errno == ENOENT);
	answer(stream, mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			    0) != MAP_FAILED);
	answer(stream, write(STDERR_FILENO, "x", 1) == 1);
	/* not by malloc: a sanitizer's ends without memory, and cannot even say so */
	answer(stream, mmap(NULL, (size_t)5 << 30, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
}

Test(confined, it_may_do_nothing_but_read)
{
	uint64_t could[16];
	cr_assert_eq(numbers(-1, try_all, could, 16), 10);
	for (int i = 0; i < 10; i++)
		cr_expect_eq(could[i], i == 8 ? STDERR_IS_OPEN : 0, "try %d went well", i);
}

static void read_some(void *context, FILE *stream)
{
	struct stat status;
	uint8_t byte = 0;
	const bool is_open = fstat(STDERR_FILENO, &status) == 0;
	answer(stream, pread(CONFINED_FD, &byte, 1, 0) == 1 ? byte : 0);
	answer(stream, open("/etc/passwd", O_RDONLY) >= 0);
	answer(stream, is_open);
}

Test(confined, it_reads_what_it_was_given)
{
	uint64_t could[3];
	FILE *file = tmpfile();
	fputc('!', file);
	fflush(file);
	cr_assert_eq(numbers(fileno(file), read_some, could, 3), 3);
	cr_expect_eq(could[0], '!');
	cr_expect_eq(could[1], 1);
	cr_expect_eq(could[2], STDERR_IS_OPEN, "descriptors of rfprof's are open");
	fclose(file);
}

/* Set before: the filter lets nobody ask. */
static void tell_rights(void *context, FILE *stream)
{
	char line[128];
	FILE *status = fopen("/proc/thread-self/status", "r");
	while (status && fgets(line, sizeof(line), status)) {
		unsigned long long number;
		if (sscanf(line, "Uid: %llu", &number) == 1)
			answer(stream, number);
		else if (sscanf(line, "CapPrm: %llx", &number) == 1 ||
			 sscanf(line, "CapEff: %llx", &number) == 1)
			answer(stream, number);
	}
}

Test(confined, it_is_no_longer_root)
{
	const uid_t owner = 54321;
	uint64_t rights[3];
	FILE *file = tmpfile();
	if (geteuid() == 0)
		cr_assert_eq(fchown(fileno(file), owner, owner), 0);
	cr_assert_eq(numbers(fileno(file), tell_rights, rights, 3), 3);
	cr_expect_eq(rights[0], geteuid() == 0 ? owner : geteuid());
	cr_expect_eq(rights[1], 0);
	cr_expect_eq(rights[2], 0);
	fclose(file);
}

/* ---- answers of before ---- */

static void answer_words(void *context, FILE *stream)
{
	for (uint64_t i = 0; i < 3; i++) {
		answer(stream, i);
		confined_put_text(stream, i == 1 ? "one" : "");
	}
}

/* Takes all; returns how many items there are. */
static uint64_t take_words(struct confined *child)
{
	uint64_t n = 0;
	for (; confined_next(child) == ITEM; n++) {
		cr_expect_eq(confined_number(child), n);
		char *text = confined_text(child);
		cr_expect_str_eq(text, n == 1 ? "one" : "");
		free(text);
	}
	return n;
}

Test(confined, a_record_is_taken_as_the_answer_was)
{
	const void *record;
	size_t size;
	struct confined *child = start(-1, answer_words, 10), *again;
	confined_record(child);
	cr_expect_eq(take_words(child), 3);
	cr_assert(confined_recorded(child, &record, &size));
	cr_assert_null(confined_replay(record, size, &again));
	cr_expect_eq(take_words(again), 3);
	cr_expect_null(confined_failure(again));
	confined_destroy(again);
	for (size_t cut = 0; cut < size; cut++) { /* a part is not taken for the whole */
		cr_assert_null(confined_replay(record, cut, &again));
		while (confined_next(again)) {
			(void)confined_number(again);
			free(confined_text(again));
		}
		cr_expect_not_null(confined_failure(again));
		confined_destroy(again);
	}
	confined_destroy(child);
}
