/* Puts calls of allocators together again, which the gate records in several pieces. */
#include "tracer/traffic/allocation_records.h"

#include "tracer/process/allocators.h"

static void add_argument(struct allocation_reader *reader, struct allocator_calls *calls,
			 uint64_t argument)
{
	if (reader->n >= reader->wanted)
		return;
	reader->call.arguments[reader->n++] = argument;
	if (reader->n == reader->wanted)
		allocator_calls_enter(calls, &reader->call);
}

static void begin(struct allocation_reader *reader, uint32_t thread, uint32_t function)
{
	reader->call.thread = thread;
	reader->call.function = function;
	reader->call.return_address = reader->call.stack_pointer = 0;
	reader->n = reader->wanted = 0;
	if (function < n_allocators)
		reader->wanted =
			allocators[function].n_arguments ? allocators[function].n_arguments : 1;
}

void allocation_record_take(struct allocation_reader *reader, struct allocator_calls *calls,
			    uint32_t thread, const struct trace_record *record)
{
	switch (record->word >> TRACE_SPAN_SHIFT) {
	case ALLOCATION_ENTER:
		begin(reader, thread, record->extra & 0xff);
		reader->call.return_address = record->address;
		reader->call.stack_pointer = (uint64_t)(record->extra >> 16) << 32;
		break;
	case ALLOCATION_FIRST:
		reader->call.stack_pointer |= record->extra;
		add_argument(reader, calls, record->address);
		break;
	case ALLOCATION_TAKE:
		begin(reader, thread, record->extra);
		add_argument(reader, calls, record->address);
		break;
	case ALLOCATION_MORE:
		add_argument(reader, calls, record->address);
		break;
	case ALLOCATION_LEAVE:
		allocator_calls_leave(calls, thread,
				      (record->address & 0xffff) << 32 | record->extra,
				      (uint64_t)((int64_t)record->address >> 16));
		break;
	default: /* a program can write there */
		break;
	}
}
