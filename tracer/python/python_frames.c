/* The frames of one thread, while it runs.
 *
 * All that a look needs lies at a few places that seldom change: the thread's state, the struct
 * that points to its innermost frame (up to 3.12), the piece of memory that its frames are pushed
 * to.  These are read by one system call, so that hardly any time is between them, and the chain is
 * followed in the copy.  Frames that are elsewhere (of generators, of deep stacks) take a call
 * each. */
#include "tracer/python/python_frames.h"

/* A chain that was torn is read again at once. */
enum { TRIES = 6 };
#define PAGE 4096u

/* --- memory --- */

static const uint8_t *in_windows(const struct python_walker *walker, uint64_t address, size_t size)
{
	for (size_t i = 0; i < walker->n_windows; i++) {
		const struct python_window *window = &walker->windows[i];
		if (address >= window->start && address - window->start <= window->size &&
		    window->size - (address - window->start) >= size)
			return window->bytes + (address - window->start);
	}
	return NULL;
}

/* A frame; the callers of one are most often below it, in the same pages.  `alone` is for a frame
 * that is kept by itself. */
static const uint8_t *get_frame(struct python_walker *walker, uint64_t address, uint8_t *alone)
{
	const size_t size = walker->runtime->layout.frame_size;
	const uint8_t *known = in_windows(walker, address, size);
	if (known)
		return known;
	if (walker->n_windows < PYTHON_WINDOWS && address >= 3 * PAGE) {
		struct python_window *window = &walker->windows[walker->n_windows];
		window->start = (address & ~(uint64_t)(PAGE - 1)) - 2 * PAGE;
		window->size = (size_t)(address + size - window->start);
		if (python_read(walker->pid, window->start, window->bytes, window->size)) {
			walker->n_windows++;
			return window->bytes + (address - window->start);
		}
	}
	return python_read(walker->pid, address, alone, size) ? alone : NULL;
}

/* --- frames --- */

enum chain { CHAIN_WHOLE, CHAIN_TORN };

/* Follows the chain from `frame` on: raw frames of those that have code. */
static enum chain follow(struct python_walker *walker, uint64_t frame)
{
	const struct python_layout *layout = &walker->runtime->layout;
	uint8_t alone[PYTHON_MAX_FRAME];
	bool entered = true;
	walker->n_raw = 0;
	/* between two frames with code there is one of the C stack at most */
	for (size_t i = 0; frame && i < 2 * PYTHON_MAX_FRAMES; i++) {
		const uint8_t *bytes = get_frame(walker, frame, alone);
		if (!bytes)
			return CHAIN_TORN;
		frame = python_u64(bytes, layout->frame_previous);
		entered = !layout->frame_is_entry &&
			  bytes[layout->frame_owner] == PYTHON_OWNER_C_STACK;
		if (entered) {
			if (walker->n_raw)
				walker->raw[walker->n_raw - 1].is_entry = true;
			continue;
		}
		if (walker->n_raw == PYTHON_MAX_FRAMES)
			return CHAIN_WHOLE;
		entered = layout->frame_is_entry && bytes[layout->frame_is_entry] == 1;
		walker->raw[walker->n_raw++] =
			(struct python_raw_frame){python_u64(bytes, layout->frame_code),
						  python_u64(bytes, layout->frame_instruction),
						  entered};
	}
	/* all begins with a call from C */
	return !frame && entered ? CHAIN_WHOLE : CHAIN_TORN;
}

/* From raw frames to functions and lines; false where one of them is none. */
static bool resolve(struct python_walker *walker)
{
	const struct python_layout *layout = &walker->runtime->layout;
	python_reads_begin(&walker->reads);
	for (size_t i = 0; i < walker->n_raw; i++)
		python_reads_add(&walker->reads, walker->code[i], walker->raw[i].code,
				 layout->code_size);
	if (walker->n_raw && python_reads_run(&walker->reads, walker->pid) != walker->n_raw)
		return false;
	for (size_t i = 0; i < walker->n_raw; i++) {
		const struct python_raw_frame *raw = &walker->raw[i];
		struct python_frame *frame = &walker->frames[i];
		frame->is_entry = raw->is_entry;
		if (!python_codes_look(walker->codes, walker->pid, walker->runtime, raw->code,
				       walker->code[i], raw->instruction, &frame->function,
				       &frame->line))
			return false;
	}
	return true;
}

/* --- the thread --- */

/* Reads the state, and with what the hint says the rest; *frame: the innermost frame.  False where
 * the state cannot be read; *known: whether the hint was right. */
static bool read_state(struct python_walker *walker, uint64_t thread,
		       struct python_thread_hint *hint, uint64_t *frame, bool *known)
{
	const struct python_layout *layout = &walker->runtime->layout;
	struct python_window *window = &walker->windows[0];
	uint64_t cframe_frame = 0;
	python_reads_begin(&walker->reads);
	python_reads_add(&walker->reads, walker->state, thread, layout->thread_size);
	if (layout->has_cframe && hint->cframe)
		python_reads_add(&walker->reads, &cframe_frame, hint->cframe + layout->cframe_frame,
				 sizeof(cframe_frame));
	if (hint->chunk)
		python_reads_add(&walker->reads, window->bytes, hint->chunk, sizeof(window->bytes));
	const size_t n = python_reads_run(&walker->reads, walker->pid);
	if (!n)
		return false;
	const uint64_t innermost = python_u64(walker->state, layout->thread_frame);
	const uint64_t chunk = python_u64(walker->state, layout->thread_chunk);
	*known = n == walker->reads.n && hint->chunk == chunk &&
		 (!layout->has_cframe || hint->cframe == innermost);
	*frame = layout->has_cframe ? cframe_frame : innermost;
	walker->n_windows = n == walker->reads.n && hint->chunk ? 1 : 0;
	window->start = hint->chunk;
	window->size = sizeof(window->bytes);
	hint->chunk = chunk;
	hint->cframe = layout->has_cframe ? innermost : 0;
	return true;
}

/* The innermost frame, where the hint was wrong, a little later than all else. */
static bool read_late(const struct python_walker *walker, const struct python_thread_hint *hint,
		      uint64_t *frame)
{
	const struct python_layout *layout = &walker->runtime->layout;
	return !layout->has_cframe ||
	       python_read(walker->pid, hint->cframe + layout->cframe_frame, frame, sizeof(*frame));
}

enum python_walk_result python_walk(struct python_walker *walker, uint64_t thread,
				    struct python_thread_hint *hint, size_t *n)
{
	uint64_t frame;
	bool known;
	*n = 0;
	for (int i = 0; i < TRIES; i++) {
		if (!read_state(walker, thread, hint, &frame, &known))
			return WALK_FAILED;
		/* what is known now makes the next one whole, unless it changes all the time */
		if (!known && (i < TRIES / 2 || !read_late(walker, hint, &frame)))
			continue;
		if (follow(walker, frame) == CHAIN_TORN || !resolve(walker))
			continue;
		*n = walker->n_raw;
		return WALK_DONE;
	}
	return WALK_TORN;
}
