/* Lists directories, keeps jobs apart, reads one file after the other. */
#include "report/merge/rank_files.h"

#include "base/array.h"
#include "base/progress.h"
#include "report/merge/ranks.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct files {
	char **paths;
	size_t n, cap;
	char *newest; /* of those in directories; one of the paths, or NULL */
	struct timespec written;
};

static bool is_directory(const char *name)
{
	struct stat status;
	return stat(name, &status) == 0 && S_ISDIR(status.st_mode);
}

bool rank_files_are_many(const char *const *names)
{
	return names[0] && (names[1] || is_directory(names[0]));
}

/* ---- which files ---- */

static struct rf_error *add_path(struct files *files, char *path)
{
	if (path && rf_array_push(files->paths, files->n, files->cap, path))
		return NULL;
	free(path);
	return rf_error_no_memory();
}

static void note_newest(struct files *files, char *path, const struct stat *status)
{
	const struct timespec at = status->st_mtim;
	if (files->newest &&
	    (at.tv_sec < files->written.tv_sec ||
	     (at.tv_sec == files->written.tv_sec && at.tv_nsec <= files->written.tv_nsec)))
		return;
	files->newest = path;
	files->written = at;
}

static int is_profile(const struct dirent *entry)
{
	const size_t length = strlen(entry->d_name);
	return length > 4 && strcmp(entry->d_name + length - 4, ".rfp") == 0;
}

static struct rf_error *list_directory(struct files *files, const char *directory)
{
	struct dirent **entries = NULL;
	struct rf_error *error = NULL;
	const int n = scandir(directory, &entries, is_profile, versionsort);
	for (int i = 0; i < n; i++) {
		struct stat status;
		char *path = NULL;
		if (!error && asprintf(&path, "%s/%s", directory, entries[i]->d_name) < 0)
			error = rf_error_no_memory();
		else if (!error && stat(path, &status) == 0 && S_ISREG(status.st_mode)) {
			error = add_path(files, path);
			if (!error)
				note_newest(files, path, &status);
		} else if (!error)
			free(path);
		free(entries[i]);
	}
	free(entries);
	return error;
}

static struct rf_error *list(struct files *files, const char *const *names)
{
	struct rf_error *error = NULL;
	for (; *names && !error; names++)
		error = is_directory(*names) ? list_directory(files, *names)
					     : add_path(files, strdup(*names));
	return error;
}

/* ---- jobs ---- */

/* What tells jobs apart. */
struct job {
	char *name;
	double size;
	bool known;
};

static struct job job_of(const struct profile *profile)
{
	const char *name = profile_get_fact(profile, "rank_job");
	return (struct job){strdup(name ? name : ""), profile_number_fact(profile, "rank_size", 0),
			    true};
}

static bool is_of(const struct job *job, const struct profile *profile)
{
	const char *name = profile_get_fact(profile, "rank_job");
	return strcmp(job->name, name ? name : "") == 0 &&
	       job->size == profile_number_fact(profile, "rank_size", 0);
}

struct merging {
	struct ranks_merge *merge;
	struct job job;
	bool picks;       /* a directory may hold other profiles as well */
	size_t n, others; /* merged; left out */
};

static struct rf_error *add_profile(struct merging *merging, struct profile *profile,
				    const char *path)
{
	const bool is_rank = profile_get_fact(profile, "rank") && !profile->n_ranks;
	if (!merging->job.known)
		merging->job = job_of(profile);
	if (!merging->job.name)
		return rf_error_no_memory();
	const bool fits = is_of(&merging->job, profile);
	if (merging->picks && (!is_rank || !fits)) {
		merging->others++;
		return NULL;
	}
	if (!fits)
		return rf_error_create(RF_EINPUT, "name the profiles of one job",
				       "%s is of another job than those before", path);
	merging->n++;
	return ranks_merge_add(merging->merge, profile, path);
}

static struct rf_error *add_file(struct merging *merging, const char *path)
{
	struct profile *profile = NULL;
	struct rf_error *error = profile_load_parts(path, PROFILE_SUMS, &profile);
	if (!error)
		error = add_profile(merging, profile, path);
	profile_destroy(profile);
	return error;
}

/* The job of the newest file of the directories. */
static struct rf_error *choose_job(struct merging *merging, const struct files *files)
{
	struct profile *profile = NULL;
	if (!files->newest)
		return NULL;
	struct rf_error *error = profile_load_parts(files->newest, PROFILE_SUMS, &profile);
	if (!error)
		merging->job = job_of(profile);
	merging->picks = true;
	profile_destroy(profile);
	return error;
}

/* ---- all of it ---- */

static struct rf_error *finish(struct merging *merging, const char *where, struct profile **out)
{
	if (!merging->n)
		return rf_error_create(
			RF_EINPUT,
			"mpirun -np 4 rfprof PROGRAM writes some; name a file for one profile",
			"there is no profile of a rank in %s", where);
	struct profile *profile = NULL;
	struct rf_error *error = ranks_merge_finish(merging->merge, &profile);
	if (error)
		return error;
	if (merging->others)
		profile_add_note(profile,
				 "%zu other profile%s of the directory are of no rank of this job",
				 merging->others, merging->others == 1 ? "" : "s");
	*out = profile;
	return NULL;
}

/* Adds all of them, and shows how far that is. */
static struct rf_error *add_all(struct merging *merging, const struct files *files, FILE *shown)
{
	struct progress progress = progress_begin(shown);
	struct rf_error *error = NULL;
	for (size_t i = 0; !error && i < files->n; i++) {
		char text[64];
		snprintf(text, sizeof(text), "profile %zu of %zu is read", i + 1, files->n);
		progress_show(&progress, (double)i / (double)files->n, text);
		error = add_file(merging, files->paths[i]);
	}
	progress_end(&progress);
	return error;
}

struct rf_error *rank_files_merge(const char *const *names, FILE *shown, struct profile **out)
{
	struct files files = {0};
	struct merging merging = {0};
	struct rf_error *error = ranks_merge_create(&merging.merge) ?: list(&files, names) ?: choose_job(&merging, &files);
	if (!error)
		error = add_all(&merging, &files, shown);
	if (!error)
		error = finish(&merging, names[0], out);
	ranks_merge_destroy(merging.merge);
	for (size_t i = 0; i < files.n; i++)
		free(files.paths[i]);
	free(files.paths);
	free(merging.job.name);
	return error;
}
