/* What the images of a run have translated, for later ones that run the same program: in this run,
 * and, in a file for each program and kind of code (base/kept_store.h), in later runs. */
#pragma once

#include "base/kept_store.h"
#include "profile/profile.h"
#include "tracer/translate/kept_code.h"

#include <sys/types.h>

#define STOCK_MEMORY (512u << 20) /* bytes, of all */

struct stock;

/* `store`: where code is kept between runs, or NULL: it is not.  Modules of code that was kept are
 * added to the profile, which must outlive the run.  NULL when memory is short. */
struct stock *stock_create(struct kept_store *store, struct profile *profile);
void stock_destroy(struct stock *stock);

/* A number for the file that a process runs, the same in all its images; 0: not known. */
uint64_t stock_program(struct stock *stock, pid_t pid);

/* There is one more image.  Where nothing is kept between runs, nothing is for a single one. */
void stock_add_image(struct stock *stock);
bool stock_has_one_image(const struct stock *stock);
/* An image that ran the program is gone: keeps what it has translated, where that is more than what
 * is kept of the program, or that does not suit it any more.  Its code's memory must still be
 * there.  `in_files`: for later runs, too.  `is_last`: the translator is asked for nothing more, so
 * that its lists are taken from it. */
void stock_keep(struct stock *stock, uint64_t program, struct translator *translator, bool in_files,
		bool is_last);
/* What is kept of a program that suits a translator, by this run or, `in_files`, by others, to be
 * released (kept_code_release) by the caller; or NULL. */
struct kept_code *stock_find(struct stock *stock, uint64_t program,
			     const struct translator *translator, bool in_files);

/* The run is at its end: what is new may be saved from now on, while others change the profile. */
void stock_close(struct stock *stock);
/* Saves it for later runs.  Nothing is where the stock was not closed. */
void stock_save(struct stock *stock);
