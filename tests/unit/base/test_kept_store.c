/* What is kept comes back as it was, however it was cut into pieces. */
#include "base/kept_store.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_BYTES 5000
#define MOST_PIECES 100

static char root[64];

static void make_root(void)
{
	strcpy(root, "/tmp/rfprof-kept-XXXXXX");
	cr_assert_not_null(mkdtemp(root));
	setenv("XDG_CACHE_HOME", root, 1);
}

static void remove_root(void)
{
	char command[128];
	snprintf(command, sizeof(command), "rm -rf %s", root);
	cr_assert_eq(system(command), 0);
}

TestSuite(kept_store, .init = make_root, .fini = remove_root);

static uint64_t state = 88172645463325252;

static uint64_t random_below(uint64_t n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % n;
}

/* Cuts the bytes anywhere, also into pieces of none. */
static size_t cut(const char *bytes, size_t size, struct kept_piece *pieces)
{
	size_t n = 0, at = 0;
	while (n < MOST_PIECES - 1 && at < size) {
		const size_t left = size - at;
		const size_t most = random_below(2) ? left : 40;
		const size_t piece = random_below((most < left ? most : left) + 1);
		pieces[n++] = (struct kept_piece){bytes + at, piece};
		at += piece;
	}
	pieces[n++] = (struct kept_piece){at < size ? bytes + at : NULL, size - at};
	return n;
}

Test(kept_store, pieces_come_back_as_one)
{
	struct kept_store *store = kept_store_create();
	const struct kept_key key = {.path = "/a/program",
				     .build_id = "abc",
				     .stamp = {1, 2, 3, 4, 5},
				     .kind = KEPT_CODE};
	for (int round = 0; round < 300; round++) {
		char bytes[MOST_BYTES];
		struct kept_piece pieces[MOST_PIECES];
		struct kept_bytes loaded;
		const size_t size = random_below(MOST_BYTES);
		for (size_t i = 0; i < size; i++)
			bytes[i] = (char)random_below(256);
		kept_store_save_pieces(store, &key, pieces, cut(bytes, size, pieces));
		cr_assert(kept_store_load(store, &key, &loaded), "round %d", round);
		cr_assert_eq(loaded.size, size);
		cr_assert_arr_eq(loaded.bytes, bytes, size);
		kept_bytes_release(&loaded);
	}
	kept_store_destroy(store);
}

/* Each changed byte is seen, in whichever piece it was. */
Test(kept_store, damage_is_seen)
{
	struct kept_store *store = kept_store_create();
	const struct kept_key key = {.path = "/a/program",
				     .build_id = "abc",
				     .stamp = {1, 2, 3, 4, 5},
				     .kind = KEPT_NAMES};
	char bytes[200] = {0}, command[256], path[256] = "";
	struct kept_piece pieces[MOST_PIECES];
	struct kept_bytes loaded;
	kept_store_save_pieces(store, &key, pieces, cut(bytes, sizeof(bytes), pieces));
	snprintf(command, sizeof(command), "find %s -type f", root);
	FILE *found = popen(command, "r");
	cr_assert(found && fgets(path, sizeof(path), found));
	pclose(found);
	path[strcspn(path, "\n")] = 0;
	const int fd = open(path, O_RDWR);
	cr_assert(fd >= 0);
	const off_t end = lseek(fd, 0, SEEK_END);
	for (off_t at = 0; at < end; at++) {
		char byte;
		cr_assert_eq(pread(fd, &byte, 1, at), 1);
		byte ^= 0x10;
		cr_assert_eq(pwrite(fd, &byte, 1, at), 1);
		cr_assert_not(kept_store_load(store, &key, &loaded), "byte %ld", (long)at);
		byte ^= 0x10;
		cr_assert_eq(pwrite(fd, &byte, 1, at), 1);
	}
	cr_assert(kept_store_load(store, &key, &loaded));
	kept_bytes_release(&loaded);
	close(fd);
	kept_store_destroy(store);
}
