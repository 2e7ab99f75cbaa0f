/* Offsets in the structs of CPython. */
#include "tracer/python/python_layout.h"

#include <string.h>

/* By offsetof in a program that includes Python.h and, with Py_BUILD_CORE, pycore_runtime.h,
 * pycore_interp.h, pycore_frame.h and pycore_code.h of Include/internal: 3.11.2 (Debian 12) and
 * 3.11.7 have the same, 3.12 is 3.12.1.  These structs do not change within a minor version, which
 * debuggers depend on as well. */
static const struct python_layout tables[] = {
	{
		.minor = 11,
		.runtime_interpreters = 40,
		.interpreter_next = 0,
		.interpreter_threads = 16,
		.gil_in_runtime = true,
		.gil = 360,
		.gil_holder = 8,
		.gil_locked = 16,
		.thread_size = 360,
		.thread_next = 8,
		.thread_native_id = 160,
		.thread_chunk = 296,
		.thread_frame = 56,
		.has_cframe = true,
		.cframe_frame = 8,
		.frame_size = 72,
		.frame_code = 32,
		.frame_previous = 48,
		.frame_instruction = 56,
		.frame_owner = 69,
		.frame_is_entry = 68,
		.code_size = 184,
		.code_filename = 112,
		.code_qualname = 128,
		.code_linetable = 136,
		.code_first_line = 72,
		.code_instructions = 184,
		.object_type = 8,
		.bytes_size = 16,
		.bytes_data = 32,
		.text_length = 16,
		.text_state = 32,
		.text_ascii = 48,
		.text_compact = 72,
	},
	{
		.minor = 12,
		.runtime_interpreters = 40,
		.interpreter_next = 0,
		.interpreter_threads = 72,
		.gil = 384,
		.gil_holder = 8,
		.gil_locked = 16,
		.thread_size = 288,
		.thread_next = 8,
		.thread_native_id = 144,
		.thread_chunk = 232,
		.thread_frame = 56,
		.has_cframe = true,
		.cframe_frame = 0,
		.frame_size = 72,
		.frame_code = 0,
		.frame_previous = 8,
		.frame_instruction = 56,
		.frame_owner = 70,
		.code_size = 192,
		.code_filename = 112,
		.code_qualname = 128,
		.code_linetable = 136,
		.code_first_line = 68,
		.code_instructions = 192,
		.object_type = 8,
		.bytes_size = 16,
		.bytes_data = 32,
		.text_length = 16,
		.text_state = 32,
		.text_ascii = 40,
		.text_compact = 56,
	},
};

/* The members of struct _Py_DebugOffsets of 3.13 (pycore_runtime.h), in their order, 8 bytes
 * each. */
enum debug_offset {
	DEBUG_COOKIE,
	DEBUG_VERSION,
	DEBUG_FREE_THREADED,
	RUNTIME_SIZE,
	RUNTIME_FINALIZING,
	RUNTIME_INTERPRETERS,
	INTERPRETER_SIZE,
	INTERPRETER_ID,
	INTERPRETER_NEXT,
	INTERPRETER_THREADS,
	INTERPRETER_GC,
	INTERPRETER_MODULES,
	INTERPRETER_SYSDICT,
	INTERPRETER_BUILTINS,
	INTERPRETER_GIL_POINTER,
	INTERPRETER_GIL,
	INTERPRETER_GIL_ENABLED,
	INTERPRETER_GIL_LOCKED,
	INTERPRETER_GIL_HOLDER,
	THREAD_SIZE,
	THREAD_PREV,
	THREAD_NEXT,
	THREAD_INTERPRETER,
	THREAD_FRAME,
	THREAD_ID,
	THREAD_NATIVE_ID,
	THREAD_CHUNK,
	THREAD_STATUS,
	FRAME_SIZE,
	FRAME_PREVIOUS,
	FRAME_CODE,
	FRAME_INSTRUCTION,
	FRAME_LOCALS,
	FRAME_OWNER,
	CODE_SIZE,
	CODE_FILENAME,
	CODE_NAME,
	CODE_QUALNAME,
	CODE_LINETABLE,
	CODE_FIRST_LINE,
	CODE_ARGUMENTS,
	CODE_LOCAL_NAMES,
	CODE_LOCAL_KINDS,
	CODE_INSTRUCTIONS,
	OBJECT_SIZE,
	OBJECT_TYPE,
	BYTES_SIZE = 65,
	BYTES_DATA,
	TEXT_SIZE,
	TEXT_STATE,
	TEXT_LENGTH,
	TEXT_ASCII,
	N_DEBUG_OFFSETS = PYTHON_DEBUG_OFFSETS / 8
};

/* Greater than any struct of an interpreter: others are no offsets. */
#define MOST_OFFSET (1u << 20)

/* Members between the end of PyASCIIObject and the characters of other strings: utf8_length and
 * utf8 of PyCompactUnicodeObject. */
#define COMPACT_MEMBERS 16

static bool fits(const struct python_layout *layout)
{
	const uint32_t u64 = sizeof(uint64_t);
	return layout->thread_size <= PYTHON_MAX_THREAD_STATE &&
	       layout->thread_next + u64 <= layout->thread_size &&
	       layout->thread_native_id + u64 <= layout->thread_size &&
	       layout->thread_chunk + u64 <= layout->thread_size &&
	       layout->thread_frame + u64 <= layout->thread_size &&
	       layout->frame_size <= PYTHON_MAX_FRAME &&
	       layout->frame_code + u64 <= layout->frame_size &&
	       layout->frame_previous + u64 <= layout->frame_size &&
	       layout->frame_instruction + u64 <= layout->frame_size &&
	       layout->frame_owner < layout->frame_size && layout->code_size <= PYTHON_MAX_CODE &&
	       layout->object_type + u64 <= 32 && layout->bytes_size + u64 <= layout->code_size &&
	       layout->code_filename + u64 <= layout->code_size &&
	       layout->code_qualname + u64 <= layout->code_size &&
	       layout->code_linetable + u64 <= layout->code_size &&
	       layout->code_first_line + sizeof(int32_t) <= layout->code_size &&
	       layout->bytes_size + u64 <= 64 &&
	       layout->text_length + u64 <= layout->text_state + sizeof(uint32_t) &&
	       layout->text_state + sizeof(uint32_t) <= 64 && layout->text_compact <= 128;
}

static bool from_debug_offsets(const uint8_t *head, struct python_layout *out)
{
	uint32_t at[N_DEBUG_OFFSETS];
	if (memcmp(head, "xdebugpy", 8) != 0)
		return false;
	for (size_t i = RUNTIME_SIZE; i < N_DEBUG_OFFSETS; i++) {
		const uint64_t value = python_u64(head, i * 8);
		at[i] = value < MOST_OFFSET ? (uint32_t)value : MOST_OFFSET;
	}
	if (at[INTERPRETER_GIL_HOLDER] < at[INTERPRETER_GIL] ||
	    at[INTERPRETER_GIL_LOCKED] < at[INTERPRETER_GIL])
		return false;
	*out = (struct python_layout){
		.minor = 13,
		.runtime_interpreters = at[RUNTIME_INTERPRETERS],
		.interpreter_next = at[INTERPRETER_NEXT],
		.interpreter_threads = at[INTERPRETER_THREADS],
		.gil = at[INTERPRETER_GIL_POINTER],
		.gil_holder = at[INTERPRETER_GIL_HOLDER] - at[INTERPRETER_GIL],
		.gil_locked = at[INTERPRETER_GIL_LOCKED] - at[INTERPRETER_GIL],
		.thread_size = at[THREAD_SIZE],
		.thread_next = at[THREAD_NEXT],
		.thread_native_id = at[THREAD_NATIVE_ID],
		.thread_chunk = at[THREAD_CHUNK],
		.thread_frame = at[THREAD_FRAME],
		.frame_size = at[FRAME_OWNER] + 1,
		.frame_code = at[FRAME_CODE],
		.frame_previous = at[FRAME_PREVIOUS],
		.frame_instruction = at[FRAME_INSTRUCTION],
		.frame_owner = at[FRAME_OWNER],
		.code_size = at[CODE_INSTRUCTIONS],
		.code_filename = at[CODE_FILENAME],
		.code_qualname = at[CODE_QUALNAME],
		.code_linetable = at[CODE_LINETABLE],
		.code_first_line = at[CODE_FIRST_LINE],
		.code_instructions = at[CODE_INSTRUCTIONS],
		.object_type = at[OBJECT_TYPE],
		.bytes_size = at[BYTES_SIZE],
		.bytes_data = at[BYTES_DATA],
		.text_length = at[TEXT_LENGTH],
		.text_state = at[TEXT_STATE],
		.text_ascii = at[TEXT_ASCII],
		.text_compact = at[TEXT_ASCII] + COMPACT_MEMBERS,
	};
	return fits(out);
}

bool python_layout_find(uint64_t version, const uint8_t *head, struct python_layout *out)
{
	const uint64_t major = version >> 24, minor = version >> 16 & 0xff;
	if (major != 3)
		return false;
	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++)
		if (tables[i].minor == minor) {
			*out = tables[i];
			return true;
		}
	/* later versions have other members among the debug offsets */
	return minor == 13 && from_debug_offsets(head, out);
}
