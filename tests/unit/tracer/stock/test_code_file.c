/* The bytes of kept code in a file: nothing is lost, and no damage leads rfprof astray. */
#include "tests/unit/tracer/stock/same_code.h"
#include "tests/unit/tracer/translate/lockstep.h"
#include "tests/unit/tracer/translate/translated_process.h"
#include "tracer/stock/code_file.h"
#include "tracer/translate/derive.h"
#include "tracer/translate/inherit.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REQUESTS 60
#define FILES 6
#define DAMAGES 400 /* of each */
#define DAMAGES_SLOW 20000

static const struct setting settings[] = {
	{.batch_insns = 100},
	{.batch_insns = 100, .classes = 0x1111111111111111},
	{.batch_insns = 30, .classes = UINT64_MAX, .is_far = true},
};
#define SETTINGS (sizeof(settings) / sizeof(*settings))

/* What a process at random places has translated; `places` gets where that was. */
static struct kept_code *random_code(const struct setting *setting)
{
	const struct places places = random_places(setting, CELLS);
	struct process process;
	open_process(&process, &places, setting);
	for (size_t i = 0; i < REQUESTS; i++) {
		const struct request request =
			i < MODULES ? (struct request){2, (unsigned)i, 4096, 0} : random_request();
		(void)ask(&process, &request);
	}
	for (size_t i = 0; i < process.translator.cache.n_blocks; i++)
		process.translator.cache.blocks[i].has_row = random_next() % 2;
	struct kept_code *kept = kept_code_take(&process.translator, false);
	cr_assert(kept);
	close_process(&process);
	return kept;
}

Test(code_file, gives_back_what_was_kept)
{
	random_begin(lockstep_seed());
	for (unsigned i = 0; i < FILES; i++) {
		const unsigned shift = i % 3;
		struct kept_code *kept = random_code(&settings[i % SETTINGS]);
		kept_code_release(keep_in_file(kept, shift));
	}
}

/* The file of random code, heap. */
static char *random_file(const struct setting *setting, size_t *size)
{
	struct kept_code *kept = random_code(setting);
	struct profile *profile = profile_with_modules(0);
	struct code_names names;
	cr_assert(code_names_take(&names, kept, profile));
	char *bytes = file_bytes(kept, &names, size);
	code_names_deinit(&names);
	kept_code_release(kept);
	profile_destroy(profile);
	return bytes;
}

/* A copy of a file; the first `size` bytes of it. */
static struct kept_bytes copy_of(const char *bytes, size_t size)
{
	char *copy = malloc(size + 1);
	cr_assert(copy);
	memcpy(copy, bytes, size);
	return (struct kept_bytes){.file = copy, .bytes = copy, .size = size};
}

Test(code_file, is_refused_when_it_is_cut)
{
	struct profile *profile = profile_with_modules(0);
	size_t size;
	random_begin(lockstep_seed());
	char *bytes = random_file(&settings[1], &size);
	for (unsigned i = 0; i < 200; i++) {
		struct kept_bytes file =
			copy_of(bytes, i < 100 ? size - 1 - i : random_next() % size);
		bool broken;
		cr_assert_null(code_file_read(&file, profile, &broken));
		cr_assert(broken);
	}
	free(bytes);
	profile_destroy(profile);
}

/* A module whose file is another one may have other symbols, even where its code is the same. */
Test(code_file, does_not_hold_when_a_module_has_changed)
{
	char path[] = "/tmp/rfprof-module-XXXXXX";
	const int fd = mkstemp(path);
	struct profile *profile = profile_with_modules(0);
	struct code_names names;
	bool broken;
	size_t size;
	random_begin(lockstep_seed());
	struct kept_code *kept = random_code(&settings[0]);
	free(profile->modules[FIRST_MODULE].path);
	profile->modules[FIRST_MODULE].path = strdup(path);
	cr_assert(code_names_take(&names, kept, profile));
	for (int changed = 0; changed < 2; changed++) {
		char *bytes = file_bytes(kept, &names, &size);
		struct kept_bytes file = {.file = bytes, .bytes = bytes, .size = size};
		struct kept_code *read = code_file_read(&file, profile, &broken);
		cr_assert(!broken);
		cr_assert_eq(!read, changed);
		kept_code_release(read);
		cr_assert_eq(write(fd, "x", 1), 1);
	}
	close(fd);
	unlink(path);
	kept_code_release(kept);
	code_names_deinit(&names);
	profile_destroy(profile);
}

/* A process gets it all, and goes on translating. */
static void use(struct kept_code *kept, const struct setting *setting)
{
	const struct places places = random_places(setting, CELLS);
	struct process heir;
	open_process(&heir, &places, setting);
	inherit_all(&heir.translator, kept);
	for (unsigned m = 0; m < MODULES; m++)
		(void)inherit_module(&heir.translator, heir.modules[m]);
	for (size_t i = 0; i < 20; i++) {
		const struct request request = random_request();
		(void)ask(&heir, &request);
	}
	uint64_t *counters = calloc(SLOT_N_COUNTERS, sizeof(*counters));
	int64_t *executions = calloc(heir.translator.cache.n_blocks + 1, sizeof(*executions));
	cr_assert(counters && executions);
	cr_assert(derive_executions(&heir.translator.cache, counters, executions));
	free(counters);
	free(executions);
	struct kept_code *again = kept_code_take(&heir.translator, false);
	kept_code_release(again);
	close_process(&heir);
}

/* Numbers that are wrong are refused, or wrong in a way that harms nobody but the program; damage
 * that the checksum of the store would have found. */
Test(code_file, leads_nobody_astray_when_it_is_damaged)
{
	const int damages = lockstep_is_slow_run() ? DAMAGES_SLOW : DAMAGES;
	uint64_t refused = 0, taken = 0;
	random_begin(lockstep_seed());
	for (unsigned i = 0; i < FILES; i++) {
		const struct setting *setting = &settings[i % SETTINGS];
		size_t size;
		char *bytes = random_file(setting, &size);
		struct profile *profile = profile_with_modules(0);
		for (int k = 0; k < damages; k++) {
			struct kept_bytes file = copy_of(bytes, size);
			for (uint64_t n = 1 + random_next() % 3; n > 0; n--)
				file.file[random_next() % size] ^= (char)(1 << random_next() % 8);
			bool broken;
			struct kept_code *kept = code_file_read(&file, profile, &broken);
			refused += !kept;
			taken += kept != NULL;
			if (kept && k % 8 == 0)
				use(kept, setting);
			kept_code_release(kept);
		}
		profile_destroy(profile);
		free(bytes);
	}
	printf("(RFPROF_SEED=%" PRIu64 ") %" PRIu64 " refused, %" PRIu64 " taken\n",
	       lockstep_seed(), refused, taken);
	cr_assert_gt(refused, 0);
}
