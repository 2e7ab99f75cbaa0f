/* See stdio_plan.h.  What each kind of descriptor gets:
 *
 *                   run 1                        run 2
 * 0  file           as it is                     opened anew at the same offset
 *    pipe, socket   relayed and kept             replayed through a pipe
 *    terminal, ...  as it is                     /dev/null (not replayed)
 * 1  file           as it is, hashed afterwards  a file in memory, hashed afterwards
 *    pipe, socket   relayed and hashed           a pipe to nowhere, hashed
 *    terminal       as it is                     a pseudo-terminal to nowhere
 * 2                 as it is                     /dev/null
 *
 * A descriptor that is closed stays closed, and /dev/null stays /dev/null.  Where 1 and 2 are the
 * same pipe, both are the same relayed pipe: the order of the writes is kept, and the hash covers
 * both.  Files that are the same are handed on in run 1 and one file in memory in run 2. */
#include "tracer/launch/stdio_plan.h"

#include "tracer/launch/stdio_relay.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <termios.h>
#include <unistd.h>

enum stream_kind {
	STREAM_CLOSED,
	STREAM_NULL, /* /dev/null */
	STREAM_FILE, /* regular */
	STREAM_PIPE, /* or socket */
	STREAM_TERMINAL,
	STREAM_OTHER, /* devices, and pipes open in the wrong direction */
};

/* Output of run 1 up to this size is also a file in run 2 (in memory); more goes through a pipe. */
static const off_t MAX_OUTPUT_IN_MEMORY = (off_t)256 << 20;

/* How long run 2 waits for children that outlive the program and keep its output open. */
enum { LINGER_MS = 1000 };

struct stdio_plan {
	enum stream_kind kinds[3];
	bool shared; /* 1 and 2 are the same pipe or file */
	int run;
	int child[3]; /* becomes 0, 1, 2 in the child, or -1: as it is */
	struct relay input, output;
	struct kept_input kept;
	off_t input_start, input_end;
	bool input_borrowed; /* run 2 shares our open file: put its offset back */
	off_t output_start;
	int output_file; /* run 2: in memory, or -1 */
	struct stream_hash hashes[2];
	bool hashed[2];
	bool reader_gone; /* in run 1 */
};

/* --- looking at the descriptors --- */

static bool has_direction(int fd, int wanted)
{
	int mode = fcntl(fd, F_GETFL) & O_ACCMODE;
	return mode == O_RDWR || mode == wanted;
}

static enum stream_kind classify(int fd)
{
	struct stat status;
	if (fstat(fd, &status) != 0)
		return errno == EBADF ? STREAM_CLOSED : STREAM_OTHER;
	if (S_ISCHR(status.st_mode) && status.st_rdev == makedev(1, 3))
		return STREAM_NULL;
	if (isatty(fd))
		return STREAM_TERMINAL;
	if (!has_direction(fd, fd == STDIN_FILENO ? O_RDONLY : O_WRONLY))
		return STREAM_OTHER;
	if (S_ISREG(status.st_mode))
		return STREAM_FILE;
	return S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode) ? STREAM_PIPE : STREAM_OTHER;
}

static bool is_same_stream(int a, int b)
{
	struct stat left, right;
	return fstat(a, &left) == 0 && fstat(b, &right) == 0 && left.st_dev == right.st_dev &&
	       left.st_ino == right.st_ino;
}

static struct rf_error *no_descriptor(const char *what)
{
	return rf_error_errno(RF_EINTERNAL, errno, "see ulimit -n", "cannot make %s", what);
}

/* Takes the numbers 0, 1, 2 where they are free, so that no file of ours lands there; closed again
 * by the child's execve. */
static struct rf_error *classify_all(struct stdio_plan *plan)
{
	for (int fd = 0; fd < 3; fd++) {
		plan->kinds[fd] = classify(fd);
		if (plan->kinds[fd] == STREAM_CLOSED && open("/dev/null", O_RDWR | O_CLOEXEC) != fd)
			return no_descriptor("a placeholder for a closed standard stream");
	}
	bool can_share = plan->kinds[1] == STREAM_PIPE || plan->kinds[1] == STREAM_FILE;
	plan->shared = can_share && plan->kinds[2] == plan->kinds[1] && is_same_stream(1, 2);
	return NULL;
}

struct rf_error *stdio_plan_create(struct stdio_plan **out)
{
	struct stdio_plan *plan = malloc(sizeof(*plan));
	if (!plan)
		return rf_error_no_memory();
	*plan = (struct stdio_plan){
		.child = {-1, -1, -1},
		.input = RELAY_INIT,
		.output = RELAY_INIT,
		.kept = {.fd = -1},
		.output_file = -1,
	};
	struct rf_error *error = classify_all(plan);
	if (error) {
		stdio_plan_destroy(plan);
		return error;
	}
	plan->input_start = lseek(STDIN_FILENO, 0, SEEK_CUR);
	*out = plan;
	return NULL;
}

static void close_child_ends(struct stdio_plan *plan)
{
	for (int i = 0; i < 3; i++) {
		bool again = i == 2 && plan->child[2] == plan->child[1];
		if (plan->child[i] >= 0 && !again)
			close(plan->child[i]);
	}
	memset(plan->child, -1, sizeof(plan->child));
}

void stdio_plan_destroy(struct stdio_plan *plan)
{
	if (!plan)
		return;
	close_child_ends(plan);
	relay_join(&plan->output, 0);
	relay_join(&plan->input, 0);
	if (plan->kept.fd >= 0)
		close(plan->kept.fd);
	if (plan->output_file >= 0)
		close(plan->output_file);
	free(plan);
}

/* --- making the child's ends --- */

/* Gives `fd` the status flags of our own stream that the program could notice. */
static void copy_flags(int from, int fd)
{
	int flags = fcntl(from, F_GETFL);
	if (flags >= 0)
		fcntl(fd, F_SETFL, flags & (O_APPEND | O_NONBLOCK));
}

static struct rf_error *make_pipe(int like, int *read_end, int *write_end)
{
	int ends[2];
	if (pipe2(ends, O_CLOEXEC) != 0)
		return no_descriptor("a pipe");
	int size = fcntl(like, F_GETPIPE_SZ);
	if (size > 0)
		fcntl(ends[1], F_SETPIPE_SZ, size);
	*read_end = ends[0];
	*write_end = ends[1];
	return NULL;
}

static struct rf_error *open_null(int *fd)
{
	*fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	return *fd >= 0 ? NULL : no_descriptor("an open /dev/null");
}

static struct rf_error *input_pipe(struct stdio_plan *plan, void *(*run)(void *))
{
	plan->input = (struct relay)RELAY_INIT;
	plan->input.run = run;
	plan->input.keep = &plan->kept;
	struct rf_error *error = make_pipe(0, &plan->child[0], &plan->input.out);
	if (!error)
		copy_flags(0, plan->child[0]);
	return error;
}

/* The same file at the same place with an offset of its own.  Where it cannot be opened anew the
 * program shares ours, put back to where run 1 began. */
static void reopen_input(struct stdio_plan *plan)
{
	plan->child[0] = open("/proc/self/fd/0", O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (plan->child[0] >= 0) {
		lseek(plan->child[0], plan->input_start, SEEK_SET);
		copy_flags(0, plan->child[0]);
		return;
	}
	plan->input_end = lseek(0, 0, SEEK_CUR);
	plan->input_borrowed = lseek(0, plan->input_start, SEEK_SET) >= 0;
}

static struct rf_error *prepare_input(struct stdio_plan *plan)
{
	enum stream_kind kind = plan->kinds[0];
	if (kind == STREAM_PIPE)
		return input_pipe(plan, plan->run == 1 ? relay_input : relay_replay);
	if (plan->run == 1 || kind == STREAM_CLOSED || kind == STREAM_NULL)
		return NULL;
	if (kind == STREAM_FILE) {
		reopen_input(plan);
		return NULL;
	}
	return open_null(&plan->child[0]);
}

static struct rf_error *output_pipe(struct stdio_plan *plan)
{
	plan->output = (struct relay)RELAY_INIT;
	plan->output.run = relay_output;
	if (plan->run == 1)
		plan->output.watch = STDOUT_FILENO;
	else if (plan->reader_gone)
		plan->output.limit = plan->hashes[0].bytes; /* `yes | head` ends in run 2, too */
	struct rf_error *error = make_pipe(1, &plan->output.in, &plan->child[1]);
	if (!error && plan->kinds[1] == STREAM_PIPE)
		copy_flags(1, plan->child[1]);
	return error;
}

static struct rf_error *output_terminal(struct stdio_plan *plan)
{
	char name[64];
	struct winsize size;
	struct termios modes;
	int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	plan->output = (struct relay)RELAY_INIT;
	plan->output.run = relay_output;
	plan->output.in = master;
	int slave = -1;
	if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0 ||
	    ptsname_r(master, name, sizeof(name)) != 0 ||
	    (slave = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC)) < 0)
		return no_descriptor("a pseudo-terminal");
	if (tcgetattr(1, &modes) == 0)
		tcsetattr(slave, TCSANOW, &modes);
	if (ioctl(1, TIOCGWINSZ, &size) == 0)
		ioctl(slave, TIOCSWINSZ, &size);
	plan->child[1] = slave;
	return NULL;
}

/* A file in memory that begins where the program's output file did: as large, but with a hole for
 * what was there before. */
static struct rf_error *output_in_memory(struct stdio_plan *plan)
{
	if (!plan->hashed[0] || (off_t)plan->hashes[0].bytes > MAX_OUTPUT_IN_MEMORY)
		return output_pipe(plan);
	plan->output_file = memfd_create("rfprof-output", MFD_CLOEXEC);
	if (plan->output_file < 0 || ftruncate(plan->output_file, plan->output_start) != 0)
		return no_descriptor("a file in memory");
	lseek(plan->output_file, plan->output_start, SEEK_SET);
	copy_flags(1, plan->output_file);
	plan->child[1] = fcntl(plan->output_file, F_DUPFD_CLOEXEC, 3);
	return plan->child[1] >= 0 ? NULL : no_descriptor("a file in memory");
}

/* Where the next byte goes: at the end for O_APPEND whatever the offset says. */
static off_t output_position(void)
{
	struct stat status;
	int flags = fcntl(1, F_GETFL);
	if (flags >= 0 && flags & O_APPEND && fstat(1, &status) == 0)
		return status.st_size;
	return lseek(1, 0, SEEK_CUR);
}

static struct rf_error *prepare_output(struct stdio_plan *plan)
{
	enum stream_kind kind = plan->kinds[1];
	if (kind == STREAM_PIPE)
		return output_pipe(plan);
	if (plan->run == 1 && kind == STREAM_FILE)
		plan->output_start = output_position();
	if (plan->run == 1 || kind == STREAM_CLOSED || kind == STREAM_NULL)
		return NULL;
	if (kind == STREAM_FILE)
		return output_in_memory(plan);
	return kind == STREAM_TERMINAL ? output_terminal(plan) : open_null(&plan->child[1]);
}

static struct rf_error *prepare_errors(struct stdio_plan *plan)
{
	if (plan->shared) {
		plan->child[2] = plan->child[1]; /* run 1: the relay, or -1 for a file */
		return NULL;
	}
	if (plan->run == 1 || plan->kinds[2] == STREAM_CLOSED || plan->kinds[2] == STREAM_NULL)
		return NULL;
	return open_null(&plan->child[2]);
}

struct rf_error *stdio_plan_prepare(struct stdio_plan *plan, int run)
{
	plan->run = run;
	struct rf_error *error = prepare_input(plan);
	if (!error)
		error = prepare_output(plan);
	return error ? error : prepare_errors(plan);
}

bool stdio_plan_child(struct stdio_plan *plan)
{
	for (int i = 0; i < 3; i++)
		if (plan->child[i] >= 0 && dup2(plan->child[i], i) < 0)
			return false;
	return true;
}

struct rf_error *stdio_plan_start(struct stdio_plan *plan)
{
	close_child_ends(plan);
	struct rf_error *error = NULL;
	if (plan->output.run)
		error = relay_start(&plan->output);
	if (!error && plan->input.run)
		error = relay_start(&plan->input);
	return error;
}

/* --- after the program has ended --- */

static bool hash_range(int fd, off_t start, off_t end, struct stream_hash *hash)
{
	enum { SIZE = 1 << 16 };
	uint8_t *buffer = malloc(SIZE);
	while (buffer && start < end) {
		off_t left = end - start;
		ssize_t n = pread(fd, buffer, left < SIZE ? (size_t)left : SIZE, start);
		if (n <= 0)
			break;
		stream_hash_add(hash, buffer, (size_t)n);
		start += n;
	}
	bool done = buffer && start == end;
	free(buffer);
	return done;
}

static bool hash_file(struct stdio_plan *plan, struct stream_hash *hash)
{
	int fd = plan->output_file;
	if (plan->run == 1)
		fd = open("/proc/self/fd/1", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	off_t end = lseek(plan->run == 1 ? 1 : fd, 0, SEEK_CUR);
	/* O_APPEND: the offset moves only when something is written. */
	struct stat status;
	if (end < plan->output_start && fstat(fd, &status) == 0 &&
	    status.st_size == plan->output_start)
		end = plan->output_start;
	bool done = end >= plan->output_start && hash_range(fd, plan->output_start, end, hash);
	if (plan->run == 1)
		close(fd);
	return done;
}

static void take_hash(struct stdio_plan *plan)
{
	struct stream_hash hash = STREAM_HASH_INIT;
	bool hashed = false;
	if (plan->output.run && plan->kinds[1] != STREAM_TERMINAL) {
		hash = plan->output.hash;
		hashed = true;
	} else if (plan->kinds[1] == STREAM_FILE) {
		hashed = hash_file(plan, &hash);
	}
	plan->hashes[plan->run - 1] = hash;
	plan->hashed[plan->run - 1] = hashed;
}

void stdio_plan_forget(struct stdio_plan *plan)
{
	const int ends[] = {plan->input.in, plan->input.out, plan->output.in, plan->output.out};
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (ends[i] > STDERR_FILENO)
			close(ends[i]);
}

void stdio_plan_finish(struct stdio_plan *plan)
{
	relay_join(&plan->output, plan->run == 1 ? -1 : LINGER_MS);
	relay_join(&plan->input, 0);
	take_hash(plan);
	if (plan->run == 1)
		plan->reader_gone = plan->output.reader_gone;
	if (plan->input_borrowed)
		lseek(0, plan->input_end, SEEK_SET);
	plan->input_borrowed = false;
	if (plan->output_file >= 0)
		close(plan->output_file);
	plan->output_file = -1;
	plan->input.run = plan->output.run = NULL;
}

bool stdio_plan_is_drained(const struct stdio_plan *plan)
{
	return !plan->output.running || __atomic_load_n(&plan->output.ended, __ATOMIC_ACQUIRE);
}

enum stdio_same stdio_plan_compare(const struct stdio_plan *plan, const char **why)
{
	static const char *const unhashed[] = {
		[STREAM_CLOSED] = "standard output is closed",
		[STREAM_NULL] = "standard output is /dev/null",
		[STREAM_FILE] = "standard output could not be read back",
		[STREAM_PIPE] = "one of the runs did not end",
		[STREAM_TERMINAL] = "standard output is a terminal",
		[STREAM_OTHER] = "standard output is a device",
	};
	const struct stream_hash *a = &plan->hashes[0], *b = &plan->hashes[1];
	*why = NULL;
	if (!plan->hashed[0] || !plan->hashed[1]) {
		*why = unhashed[plan->kinds[1]];
		return STDIO_UNKNOWN;
	}
	if (a->hash == b->hash && a->bytes == b->bytes)
		return STDIO_SAME;
	if (a->words == b->words)
		return STDIO_NUMBERS;
	if (!plan->shared)
		return STDIO_DIFFERENT;
	*why = "standard error goes to the same place, and the two together differ";
	return STDIO_UNKNOWN;
}

bool stdio_plan_input_replayed(const struct stdio_plan *plan, const char **why)
{
	static const char *const reasons[] = {
		[STREAM_TERMINAL] = "standard input is a terminal",
		[STREAM_OTHER] = "standard input is a device",
	};
	*why = reasons[plan->kinds[0]];
	if (plan->kinds[0] == STREAM_PIPE && plan->kept.errnum)
		*why = "standard input was too large to keep: the next run has its beginning alone";
	return !*why;
}

bool stdio_plan_input_kept(const struct stdio_plan *plan, char *words, size_t size)
{
	const struct kept_input *kept = &plan->kept;
	if (!kept->folder[0])
		return false;
	snprintf(words, size, "standard input: %.3g GB were kept in a file in %s for the next run",
		 (double)kept->bytes * 1e-9, kept->folder);
	return true;
}
