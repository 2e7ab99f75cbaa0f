/* What is known of the program that the shim is in, and of its threads. */
#pragma once

#include "preload/shim_protocol.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* One sampled thread. */
struct shim_thread {
	struct shim_slot *slot;
	uint32_t generation, pid, tid;
	int timer; /* kernel's id */
	char name[16];
};

/* The process. */
struct shim_process {
	struct shim_header *header;   /* the whole file, mapped; NULL: no sampling */
	struct sigaction user_action; /* what the program wants for our signal */
};
extern struct shim_process shim_process;
