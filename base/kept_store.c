/* A file holds a checksum, what its content depends on, and the content as bytes of this machine.
 */
#include "base/kept_store.h"

#include "base/hash.h"
#include "base/keep_place.h"
#include "base/large_memory.h"
#include "base/trusted_file.h"
#include "base/whole_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* Raised whenever the layout or the meaning of what is kept changes. */
#define KEPT_VERSION UINT64_C(0x7266706e616d0006)

/* Clocks of file systems are coarse; within that time two changes can have one stamp. */
#define SETTLED_NS INT64_C(2000000000)
/* A file that is used is marked as such once in so many seconds. */
#define USED_SECONDS 86400

static const struct keep_place place = {"XDG_CACHE_HOME", ".cache",
					"names of functions and translated code"};

/* What kinds share a directory, and how much of it there is at most. */
static const struct shelf {
	const char *name;
	enum kept_kind first; /* and all up to that of the next one */
	size_t most_file, most_all;
} shelves[] = {{"names", 0, KEPT_MOST_FILE, KEPT_MOST_ALL},
	       {"code", KEPT_CODE, KEPT_MOST_CODE_FILE, KEPT_MOST_CODE_ALL}};
enum { N_SHELVES = sizeof(shelves) / sizeof(*shelves) };

struct kept_store {
	char *directories[N_SHELVES]; /* NULL: nothing is kept */
	struct file_stamp self;
	pthread_mutex_t lock; /* of what follows */
	struct rf_error *warning;
	bool prepared[N_SHELVES];
};

static size_t shelf_of(enum kept_kind kind)
{
	size_t i = N_SHELVES - 1;
	while (kind < shelves[i].first)
		i--;
	return i;
}

struct kept_store *kept_store_create(void)
{
	struct kept_store *store = calloc(1, sizeof(*store));
	struct stat status;
	char *parent = NULL;
	if (!store)
		return NULL;
	pthread_mutex_init(&store->lock, NULL);
	struct rf_error *homeless = keep_place_directory(&place, &parent);
	if (!homeless && stat("/proc/self/exe", &status) == 0) {
		store->self = file_stamp_of(&status);
		for (size_t i = 0; i < N_SHELVES; i++)
			if (asprintf(&store->directories[i], "%s/%s", parent, shelves[i].name) < 0)
				store->directories[i] = NULL;
	}
	rf_error_destroy(homeless);
	free(parent);
	return store;
}

void kept_store_destroy(struct kept_store *store)
{
	if (!store)
		return;
	rf_error_destroy(store->warning);
	pthread_mutex_destroy(&store->lock);
	for (size_t i = 0; i < N_SHELVES; i++)
		free(store->directories[i]);
	free(store);
}

struct rf_error *kept_store_warning(struct kept_store *store)
{
	pthread_mutex_lock(&store->lock);
	struct rf_error *warning = store->warning;
	store->warning = NULL;
	pthread_mutex_unlock(&store->lock);
	return warning;
}

static void warn(struct kept_store *store, const char *path, const char *what)
{
	pthread_mutex_lock(&store->lock);
	if (!store->warning)
		store->warning = rf_error_create(RF_EACCESS, "remove it", "%s is not used: it %s",
						 path, what);
	pthread_mutex_unlock(&store->lock);
}

/* ---- which file ---- */

static int64_t nanoseconds(const struct timespec *time)
{
	return (int64_t)time->tv_sec * 1000000000 + time->tv_nsec;
}

struct file_stamp file_stamp_of(const struct stat *status)
{
	return (struct file_stamp){status->st_dev, status->st_ino, (uint64_t)status->st_size,
				   nanoseconds(&status->st_ctim), nanoseconds(&status->st_mtim)};
}

struct file_stamp file_stamp_of_image(const void *image, size_t size)
{
	return (struct file_stamp){.inode = rf_hash(image, size), .size = size};
}

struct file_stamp file_stamp_of_path(const char *path)
{
	struct stat status;
	return stat(path, &status) == 0 ? file_stamp_of(&status) : (struct file_stamp){0};
}

static bool is_same(const struct file_stamp *a, const struct file_stamp *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

bool file_stamp_is_settled(const struct file_stamp *stamp)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	const int64_t latest = nanoseconds(&now) - SETTLED_NS;
	return stamp->changed_ns < latest && stamp->modified_ns < latest;
}

/* /proc/PID/fd and the like mean another file tomorrow. */
static bool can_be_kept(const struct kept_store *store, const struct kept_key *key)
{
	return store->directories[shelf_of(key->kind)] && strncmp(key->path, "/proc/", 6) != 0;
}

/* By the path alone: what is kept of a file that is built anew takes the place of the older. */
static char *path_of(const struct kept_store *store, const struct kept_key *key)
{
	char *path;
	return asprintf(&path, "%s/%016llx", store->directories[shelf_of(key->kind)],
			(unsigned long long)(rf_hash(key->path, strlen(key->path)) + key->kind)) < 0
		       ? NULL
		       : path;
}

/* ---- the head of a file ---- */

struct head {
	uint64_t version, checksum; /* of all that follows */
};

/* Of four parts beside each other, as a step of rf_hash waits for the one before: a file may have a
 * hundred megabytes. */
enum { PARTS = 4, STEP = PARTS * sizeof(uint64_t) };
struct sum {
	uint64_t of[PARTS + 1];
	char rest[STEP]; /* of the last piece; it goes on in the next one */
	size_t n_rest;
};

static struct sum sum_begin(void)
{
	return (struct sum){.of = {1, 2, 3, 4}};
}

static void sum_steps(struct sum *sum, const char *bytes, size_t n)
{
	uint64_t of[PARTS], word;
	memcpy(of, sum->of, sizeof(of));
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < PARTS; k++) {
			memcpy(&word, bytes + i * STEP + k * sizeof(word), sizeof(word));
			of[k] = (of[k] ^ word) * UINT64_C(0x9e3779b97f4a7c15);
			of[k] ^= of[k] >> 32;
		}
	memcpy(sum->of, of, sizeof(of));
}

static void sum_add(struct sum *sum, const char *bytes, size_t size)
{
	if (!size) /* `bytes` may be NULL then */
		return;
	if (sum->n_rest) {
		const size_t missing = STEP - sum->n_rest;
		const size_t n = size < missing ? size : missing;
		memcpy(sum->rest + sum->n_rest, bytes, n);
		sum->n_rest += n;
		bytes += n;
		size -= n;
		if (sum->n_rest < STEP)
			return;
		sum_steps(sum, sum->rest, 1);
	}
	sum_steps(sum, bytes, size / STEP);
	sum->n_rest = size % STEP;
	memcpy(sum->rest, bytes + size - sum->n_rest, sum->n_rest);
}

static uint64_t sum_end(struct sum *sum)
{
	sum->of[PARTS] = rf_hash(sum->rest, sum->n_rest);
	return rf_hash(sum->of, sizeof(sum->of));
}

static uint64_t checksum(const char *bytes, size_t size)
{
	struct sum sum = sum_begin();
	sum_add(&sum, bytes, size);
	return sum_end(&sum);
}

/* What follows it; then path and build id, and what is kept, which may be used where it is. */
struct origin {
	struct file_stamp self, module;
	uint64_t kind, path_size, build_id_size;
};
#define ALIGNMENT 16

/* How many bytes stand between the texts and what is kept. */
static size_t padding_of(const struct origin *origin)
{
	return -(sizeof(struct head) + sizeof(*origin) + origin->path_size +
		 origin->build_id_size) &
	       (ALIGNMENT - 1);
}

struct cursor {
	const char *at, *end;
};

static bool take(struct cursor *cursor, void *to, size_t size)
{
	if ((size_t)(cursor->end - cursor->at) < size)
		return false;
	memcpy(to, cursor->at, size);
	cursor->at += size;
	return true;
}

static bool take_same(struct cursor *cursor, const char *text, uint64_t size)
{
	if (size != strlen(text) || (uint64_t)(cursor->end - cursor->at) < size)
		return false;
	const bool same = memcmp(cursor->at, text, size) == 0;
	cursor->at += size;
	return same;
}

/* ---- reading ---- */

enum { HOLDS, IS_OLD, IS_BROKEN };

/* Of what follows the head. */
static bool has_sum(const struct head *head, const char *bytes, const char *end)
{
	return head->checksum == checksum(bytes, (size_t)(end - bytes));
}

static int parse(const struct kept_store *store, const struct kept_key *key, bool sums,
		 struct cursor *cursor)
{
	struct head head;
	struct origin origin;
	char padding[ALIGNMENT];
	if (!take(cursor, &head, sizeof(head)))
		return IS_BROKEN;
	if (head.version != KEPT_VERSION)
		return IS_OLD;
	if ((sums && !has_sum(&head, cursor->at, cursor->end)) ||
	    !take(cursor, &origin, sizeof(origin)))
		return IS_BROKEN;
	return is_same(&origin.self, &store->self) && is_same(&origin.module, &key->stamp) &&
			       origin.kind == key->kind &&
			       take_same(cursor, key->path, origin.path_size) &&
			       take_same(cursor, key->build_id, origin.build_id_size) &&
			       take(cursor, padding, padding_of(&origin))
		       ? HOLDS
		       : IS_OLD;
}

/* What is used is not removed. */
static void mark_used(int fd)
{
	struct stat status;
	const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_nsec = UTIME_NOW}};
	if (fstat(fd, &status) == 0 && time(NULL) - status.st_mtime > USED_SECONDS)
		(void)futimens(fd, times);
}

static char *read_whole(int fd, size_t size)
{
	char *bytes = large_malloc(size);
	for (size_t n_read = 0; bytes && n_read < size;) {
		const ssize_t n = read(fd, bytes + n_read, size - n_read);
		if (n <= 0) {
			free(bytes);
			return NULL;
		}
		n_read += (size_t)n;
	}
	return bytes;
}

/* All of a file: mapped, where that is possible, since memory for a copy takes longer than all else
 * that is done with it.  False: it has too many bytes, or they cannot be read. */
static bool open_whole(int fd, size_t most, struct kept_bytes *out, size_t *size)
{
	struct stat status;
	if (fstat(fd, &status) != 0 || status.st_size <= 0 || (uint64_t)status.st_size > most)
		return false;
	*size = (size_t)status.st_size;
	out->file = mmap(NULL, *size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	out->mapped = *size;
	if (out->file == MAP_FAILED) {
		out->file = read_whole(fd, *size);
		out->mapped = 0;
	}
	return out->file;
}

void kept_bytes_release(struct kept_bytes *bytes)
{
	if (bytes->mapped)
		munmap(bytes->file, bytes->mapped);
	else
		free(bytes->file);
	*bytes = (struct kept_bytes){0};
}

static bool load(struct kept_store *store, const struct kept_key *key, bool sums,
		 struct kept_bytes *out)
{
	char *path = can_be_kept(store, key) ? path_of(store, key) : NULL;
	const char *refusal = NULL;
	size_t size = 0;
	int state = IS_OLD;
	*out = (struct kept_bytes){0};
	const int fd = path ? trusted_file_open(path, &refusal) : -1;
	if (refusal)
		warn(store, path, refusal);
	if (fd >= 0) {
		const bool is_open =
			open_whole(fd, shelves[shelf_of(key->kind)].most_file, out, &size);
		struct cursor cursor = {out->file, out->file + size};
		state = is_open ? parse(store, key, sums, &cursor) : IS_BROKEN;
		out->bytes = cursor.at;
		out->size = (size_t)(cursor.end - cursor.at);
		out->is_unsummed = !sums;
		if (is_open)
			mark_used(fd);
		close(fd);
	}
	if (state == IS_BROKEN)
		warn(store, path, "is broken");
	if (state != HOLDS)
		kept_bytes_release(out);
	free(path);
	return state == HOLDS;
}

bool kept_store_load(struct kept_store *store, const struct kept_key *key, struct kept_bytes *out)
{
	return load(store, key, true, out);
}

bool kept_store_open(struct kept_store *store, const struct kept_key *key, struct kept_bytes *out)
{
	return load(store, key, false, out);
}

bool kept_bytes_are_whole(const struct kept_bytes *bytes)
{
	struct head head;
	if (!bytes->is_unsummed)
		return true;
	memcpy(&head, bytes->file, sizeof(head));
	return has_sum(&head, bytes->file + sizeof(head), bytes->bytes + bytes->size);
}

void kept_store_is_broken(struct kept_store *store, const struct kept_key *key)
{
	char *path = path_of(store, key);
	if (path)
		warn(store, path, "is broken");
	free(path);
}

/* ---- writing ---- */

/* All of a file but its head and what is kept; NULL: memory is short. */
static char *compose(const struct kept_store *store, const struct kept_key *key, size_t *size)
{
	const struct origin origin = {.self = store->self,
				      .module = key->stamp,
				      .kind = key->kind,
				      .path_size = strlen(key->path),
				      .build_id_size = strlen(key->build_id)};
	const size_t padding = padding_of(&origin);
	*size = sizeof(origin) + origin.path_size + origin.build_id_size + padding;
	char *content = malloc(*size), *to = content;
	if (!content)
		return NULL;
	to = mempcpy(to, &origin, sizeof(origin));
	to = mempcpy(to, key->path, origin.path_size);
	to = mempcpy(to, key->build_id, origin.build_id_size);
	memset(to, 0, padding);
	return content;
}

/* A list without items may have no memory either, of which fwrite must not be told. */
static void write_piece(FILE *stream, const struct kept_piece *piece)
{
	if (piece->size)
		fwrite(piece->bytes, 1, piece->size, stream);
}

static void write_file(const char *path, const struct kept_piece *first,
		       const struct kept_piece *pieces, size_t n_pieces)
{
	const struct whole_file_wish wish = {path, "cannot keep", NULL,
					     WHOLE_FILE_REGULAR | WHOLE_FILE_PRIVATE |
						     WHOLE_FILE_UNSYNCED};
	struct sum sum = sum_begin();
	sum_add(&sum, first->bytes, first->size);
	for (size_t i = 0; i < n_pieces; i++)
		sum_add(&sum, pieces[i].bytes, pieces[i].size);
	const struct head head = {KEPT_VERSION, sum_end(&sum)};
	struct whole_file file;
	struct rf_error *error = whole_file_stream(&wish, &file);
	if (!error) {
		fwrite(&head, sizeof(head), 1, file.stream);
		write_piece(file.stream, first);
		for (size_t i = 0; i < n_pieces; i++)
			write_piece(file.stream, &pieces[i]);
		error = whole_file_close(&file, NULL);
	}
	rf_error_destroy(error); /* the next run reads again */
}

static bool is_kept_name(const char *name)
{
	return strlen(name) == 16 && strspn(name, "0123456789abcdef") == 16;
}

/* Sums up the files, and finds the one that was not used for the longest time. */
static uint64_t look_through(DIR *directory, char *oldest, size_t room)
{
	uint64_t sum = 0;
	int64_t least = INT64_MAX;
	struct stat status;
	rewinddir(directory);
	for (struct dirent *entry; (entry = readdir(directory));) {
		if (!is_kept_name(entry->d_name) ||
		    fstatat(dirfd(directory), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0)
			continue;
		sum += (uint64_t)status.st_size;
		if (nanoseconds(&status.st_mtim) < least) {
			least = nanoseconds(&status.st_mtim);
			snprintf(oldest, room, "%s", entry->d_name);
		}
	}
	return sum;
}

static void remove_oldest(const char *path, size_t most)
{
	DIR *directory = opendir(path);
	char oldest[32];
	while (directory && look_through(directory, oldest, sizeof(oldest)) > most)
		if (unlinkat(dirfd(directory), oldest, 0) != 0)
			break;
	if (directory)
		closedir(directory);
}

/* Whether the directory is there, made now if it has to be. */
static bool prepare(struct kept_store *store, size_t shelf)
{
	pthread_mutex_lock(&store->lock);
	if (!store->prepared[shelf]) {
		struct rf_error *error = keep_place_prepare(&place, store->directories[shelf]);
		store->prepared[shelf] = !error;
		rf_error_destroy(error);
	}
	const bool prepared = store->prepared[shelf];
	pthread_mutex_unlock(&store->lock);
	return prepared;
}

static size_t size_of(const struct kept_piece *pieces, size_t n_pieces)
{
	size_t size = 0;
	for (size_t i = 0; i < n_pieces; i++)
		size += pieces[i].size;
	return size;
}

void kept_store_save_pieces(struct kept_store *store, const struct kept_key *key,
			    const struct kept_piece *pieces, size_t n_pieces)
{
	if (!can_be_kept(store, key) || !file_stamp_is_settled(&key->stamp))
		return;
	const size_t shelf = shelf_of(key->kind);
	char *path = prepare(store, shelf) ? path_of(store, key) : NULL;
	size_t size = 0;
	char *content = path ? compose(store, key, &size) : NULL;
	const struct kept_piece first = {content, size};
	if (content &&
	    sizeof(struct head) + size + size_of(pieces, n_pieces) <= shelves[shelf].most_file) {
		write_file(path, &first, pieces, n_pieces);
		remove_oldest(store->directories[shelf], shelves[shelf].most_all);
	}
	free(content);
	free(path);
}

void kept_store_save(struct kept_store *store, const struct kept_key *key, const void *bytes,
		     size_t size)
{
	kept_store_save_pieces(store, key, &(struct kept_piece){bytes, size}, 1);
}
