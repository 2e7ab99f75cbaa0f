/* Where CPython keeps what is looked for, by its version. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Structs are read as a whole, up to the last member that is wanted; these are their sizes at most,
 * in bytes. */
#define PYTHON_MAX_THREAD_STATE 512
#define PYTHON_MAX_FRAME 128
#define PYTHON_MAX_CODE 256

/* Offsets in bytes. */
struct python_layout {
	uint32_t minor; /* of Python 3 */
	/* _PyRuntimeState */
	uint32_t runtime_interpreters;
	/* PyInterpreterState */
	uint32_t interpreter_next, interpreter_threads;
	/* The lock: in the runtime (3.11), or where a pointer in the interpreter leads to. */
	bool gil_in_runtime;
	uint32_t gil, gil_holder, gil_locked;
	/* PyThreadState; `thread_frame` is the innermost frame, or leads to the struct that has it
	 * at cframe_frame (has_cframe) */
	uint32_t thread_size, thread_next, thread_native_id, thread_chunk, thread_frame;
	bool has_cframe;
	uint32_t cframe_frame;
	/* _PyInterpreterFrame: the frame that enters the interpreter is marked (is_entry, 3.11), or
	 * is the one above a frame of no code, whose owner is the C stack */
	uint32_t frame_size, frame_code, frame_previous, frame_instruction, frame_owner;
	uint32_t frame_is_entry; /* 0: there is none */
	/* PyCodeObject */
	uint32_t code_size, code_filename, code_qualname, code_linetable, code_first_line;
	uint32_t code_instructions;
	/* PyObject, PyBytesObject, and strings: characters of ASCII begin at text_ascii, others at
	 * text_compact */
	uint32_t object_type, bytes_size, bytes_data;
	uint32_t text_length, text_state, text_ascii, text_compact;
};

/* Owner of a frame: the C stack, which has no code (enum _frameowner). */
#define PYTHON_OWNER_C_STACK 3

/* What _PyRuntime begins with in 3.13 and later: struct _Py_DebugOffsets. */
#define PYTHON_DEBUG_OFFSETS 584
/* The layout of a version, which is PY_VERSION_HEX; `head` are the first PYTHON_DEBUG_OFFSETS bytes
 * of _PyRuntime.  False for versions that are not known, and where what is read makes no sense. */
bool python_layout_find(uint64_t version, const uint8_t *head, struct python_layout *out);

/* Numbers within something that was read. */
static inline uint64_t python_u64(const uint8_t *bytes, size_t offset)
{
	uint64_t value;
	__builtin_memcpy(&value, bytes + offset, sizeof(value));
	return value;
}

static inline int32_t python_i32(const uint8_t *bytes, size_t offset)
{
	int32_t value;
	__builtin_memcpy(&value, bytes + offset, sizeof(value));
	return value;
}
