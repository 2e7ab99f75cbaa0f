/* Fuzz target: the file that the preloaded shim shares with rfprof, written by a program at will:
 * slots with any state, positions and owner, and rings of any bytes, read by the timer sampler into
 * a profile.  The file is found as the shim finds it, by its descriptor. */
#include "preload/shim_protocol.h"
#include "profile/profile.h"
#include "tracer/timed/sampler.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MAX_RING_SLOTS 4
#define MOST_NS (UINT64_C(1) << 60) /* that a profile can be saved with */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
	const uint8_t *data;
	size_t size, at;
};

static void require(bool condition)
{
	if (!condition)
		abort();
}

static uint64_t take(struct input *input, int bytes)
{
	uint64_t value = 0;
	for (int i = 0; i < bytes; i++)
		value |= (uint64_t)(input->at < input->size ? input->data[input->at++] : 0)
			 << 8 * i;
	return value;
}

/* Another mapping of the sampler's file. */
static uint8_t *map_file(void)
{
	uint8_t *mapping = NULL;
	DIR *folder = opendir("/proc/self/fd");
	for (struct dirent *entry; folder && !mapping && (entry = readdir(folder));) {
		char target[64] = "";
		if (readlinkat(dirfd(folder), entry->d_name, target, sizeof(target) - 1) > 0 &&
		    strncmp(target, "/memfd:rfprof-samples", 21) == 0)
			mapping = mmap(NULL, SHIM_FILE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED,
				       atoi(entry->d_name), 0);
	}
	if (folder)
		closedir(folder);
	require(mapping && mapping != MAP_FAILED);
	return mapping;
}

static struct shim_slot *slot_at(uint8_t *file, size_t number)
{
	return (struct shim_slot *)(file + SHIM_PAGE + number * SHIM_SLOT_SIZE);
}

/* The head is what the bytes in the ring make of it, or anything. */
static void fill_slot(struct shim_slot *slot, struct input *input)
{
	const uint64_t kind = take(input, 1), n = take(input, 2);
	uint8_t *ring = (uint8_t *)slot + SHIM_PAGE;
	slot->state = (uint32_t)(kind & 3);
	slot->pid = kind & 4 ? (uint32_t)take(input, 4) : (uint32_t)getpid();
	slot->tail = kind & 8 ? take(input, 8) : take(input, 1) * 8 + SHIM_RING_SIZE * 3 - 512;
	uint64_t at = slot->tail;
	for (uint64_t i = 0; i < n && input->at < input->size; i++)
		ring[at++ % SHIM_RING_SIZE] = (uint8_t)take(input, 1);
	slot->head = kind & 16 ? take(input, 8) : at & ~7ull;
	slot->lost = kind & 32 ? take(input, 8) : 0;
}

static void check_profile(const struct profile *profile)
{
	for (size_t i = 0; i < profile->n_frames; i++)
		require(profile->frames[i].module < profile->n_modules &&
			(profile->frames[i].parent == PROFILE_NONE ||
			 profile->frames[i].parent < i));
	for (size_t i = 0; i < profile->n_samples; i++)
		require(profile->samples[i].thread < profile->n_threads &&
			profile->samples[i].frame < profile->n_frames &&
			profile->samples[i].time_ns <= MOST_NS);
	require(profile_is_sound(profile));
}

/* What is used must have been read to its end. */
static void check_slots(uint8_t *file)
{
	for (size_t i = 0; i < MAX_RING_SLOTS; i++) {
		const struct shim_slot *slot = slot_at(file, i);
		if (slot->state == SHIM_SLOT_FREE && !slot->pid)
			return;
		require(slot->state == SHIM_SLOT_FREE || slot->tail == slot->head);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input input = {data, size, 0};
	struct profile *profile = profile_create();
	struct sampler *sampler = sampler_timer.create(profile, NULL);
	require(sampler && profile);
	uint8_t *file = map_file();
	for (size_t i = 0; i < MAX_RING_SLOTS && input.at < size; i++)
		fill_slot(slot_at(file, i), &input);
	((struct shim_header *)file)->unsampled = (uint32_t)take(&input, 4);
	struct rf_error *error = sampler_timer.finish(sampler);
	if (!error)
		check_profile(profile);
	check_slots(file);
	rf_error_destroy(error);
	munmap(file, SHIM_FILE_SIZE);
	sampler_timer.destroy(sampler);
	profile_destroy(profile);
	return 0;
}
