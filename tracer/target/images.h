/* The state of a counted run, and the process images in it that are counted. */
#pragma once

#include "tracer/launch/process_log.h"
#include "tracer/launch/sandbox.h"
#include "tracer/target/copies.h"
#include "tracer/target/tracees.h"
#include "tracer/target/windows.h"

#include <pthread.h>

struct counted_run {
	struct tracees tracees;
	struct birth *births; /* births.c: children whose first stop has not come yet */
	size_t n_births, cap_births;
	struct target **targets; /* of all images; those that are gone are freed, or (keep_images)
				    kept for their address maps */
	size_t n_targets, cap_targets;
	size_t n_finished;    /* of these are gone and not freed */
	pthread_mutex_t lock; /* of this list, the profile and all targets */
	struct module_files *files;
	struct profile *profile;
	struct told_threads told;
	struct process_log processes;
	int *let_go; /* pidfds of children that are not traced */
	size_t n_let_go, cap_let_go;
	struct traffic_options traffic;
	struct drain *drain;          /* NULL: accesses are not traced */
	struct copies_pace pace;      /* of code that is only counted */
	struct windows *windows;      /* of the traced code; NULL: all is */
	struct kernel_files *kernels; /* that are looked out for; or NULL */
	struct span *span;            /* that is measured; NULL: all is */
	struct stock *stock;          /* what its processes translate; NULL: nothing is kept */
	struct sandbox sandbox;
	pid_t main_pid;
	int status;
	bool ended, keep_rest, keep_images, first_only;
	bool refused; /* one of the tree wanted to trace the first process */
};

/* The stopped process has a code cache of its own from now on, or stays native. */
void images_count(struct counted_run *run, struct tracee *tracee);
/* A process runs natively for that reason. */
void images_note_native(struct counted_run *run, pid_t pid, const char *why);

/* The image is gone: its counts go into the profile.  It can still be looked at until
 * images_free_retired. */
void images_retire(struct counted_run *run, struct target *target);
/* Between two events: frees the images that are gone, but those whose children's first stop has not
 * come yet, and all in the only run, where samples are still to be mapped. */
void images_free_retired(struct counted_run *run);
