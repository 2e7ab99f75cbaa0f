/* Stack traces by backtrace(3), libunwind, frame pointers and return addresses; all are the program's own.
 * @flags -O1 -rdynamic -fno-omit-frame-pointer -fno-optimize-sibling-calls
 * @libraries -lunwind -ldl
 * @cases backtrace libunwind frames addresses */
#define UNW_LOCAL_ONLY
#include "../own.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <libunwind.h>

void one(const char *how);
void two(const char *how);
void three(const char *how);

static void say(void *address)
{
	Dl_info info = { 0 };

	if (dladdr(address, &info) && info.dli_sname)
		printf("%s+%ld\n", info.dli_sname, (long)((char *)address - (char *)info.dli_saddr));
	else
		printf("nowhere\n");
}

NOINLINE void three(const char *how)
{
	void *trace[10], **frame = __builtin_frame_address(0);
	unw_context_t context;
	unw_cursor_t cursor;
	unw_word_t pc;

	if (!strcmp(how, "backtrace")) {
		int n = backtrace(trace, 10);

		for (int i = 0; i < n && i < 5; i++)
			say(trace[i]);
	} else if (!strcmp(how, "libunwind")) {
		unw_getcontext(&context);
		unw_init_local(&cursor, &context);
		while (unw_step(&cursor) > 0 && unw_get_reg(&cursor, UNW_REG_IP, &pc) == 0)
			say((void *)pc);
	} else if (!strcmp(how, "frames")) {
		for (int i = 0; i < 3; i++, frame = *frame)
			say(frame[1]);
	} else {
		say(__builtin_return_address(0));
		say(__builtin_return_address(1));
		say(__builtin_return_address(2));
	}
}

NOINLINE void two(const char *how)
{
	three(how);
	work(1);
}

NOINLINE void one(const char *how)
{
	two(how);
	work(1);
}

int main(int argc, char **argv)
{
	one(argv[argc - 1]);
	return done();
}
