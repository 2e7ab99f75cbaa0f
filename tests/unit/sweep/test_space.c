#include "sweep/space.h"

#include <criterion/criterion.h>
#include <string.h>

/* The commands of all points, "a b;c d;"; "" where the words are refused. */
static void commands(const char **words, char *text, size_t size)
{
	struct space space;
	struct rf_error *error = space_init(&space, words);
	size_t at = 0;
	*text = 0;
	for (size_t i = 0; !error && i < space.n_points; i++) {
		char **command = space_command(&space, i);
		for (char **word = command; *word; word++)
			at += (size_t)snprintf(text + at, size - at, "%s%c", *word,
					       word[1] ? ' ' : ';');
		space_free_command(command);
	}
	rf_error_destroy(error);
	space_deinit(&space);
}

Test(space, points)
{
	static const struct {
		const char *words[6];
		const char *commands; /* "": refused */
	} cases[] = {
		{{"./a"}, "./a;"},
		{{"n=1,2", "./a", "{n}"}, "./a 1;./a 2;"},
		{{"n=1:7:3", "./a", "-{n}-{n}"}, "./a -1-1;./a -4-4;./a -7-7;"},
		{{"n=-1:1", "./a", "{n}"}, "./a -1;./a 0;./a 1;"},
		{{"n=1,2", "lib=x,y", "./a", "{lib}{n}"}, "./a x1;./a y1;./a x2;./a y2;"},
		{{"n=5", "./a", "{n}", "m=3"}, "./a 5 m=3;"},
		{{"n=5", "./a", "{n}", "{}", "{ n }"}, "./a 5 {} { n };"},
		{{"t=a:b,c", "./a", "{t}"}, "./a a:b;./a c;"},
		{{"t=/a:/b", "./a", "{t}"}, "./a /a:/b;"},
		{{"t=a:1:2", "./a", "{t}"}, "./a a:1:2;"},
		{{"n=7:1:-3", "./a", "{n}"}, "./a 7;./a 4;./a 1;"},
		{{"n=1:-1:-1", "./a", "{n}"}, "./a 1;./a 0;./a -1;"},
		{{"n=3:3:-1", "./a", "{n}"}, "./a 3;"},
		{{"n=1,2", "sh", "${{n}}{n}"}, "sh ${n}1;sh ${n}2;"},
		{{"n=1", "sh", "{n}", "{{m}}", "{{}}"}, "sh 1 {m} {{}};"},
		{{"n=1,2", "k=3", "m:=k*n^2", "./a", "{m}"}, "./a 3;./a 12;"},
		{{"n=1:2", "h:=n/2", "q:=h/2", "./a", "{h}-{q}"}, "./a 0.5-0.25;./a 1-0.5;"},
		{{"m:=2^10", "./a", "{m}"}, "./a 1024;"},
		{{"n=1", "m:=n*k", "./a", "{m}"}, ""},
		{{"n=x", "m:=2*n", "./a", "{m}"}, ""},
		{{"n=0", "m:=1/n", "./a", "{m}"}, ""},
		{{"m:=2*n", "n=1", "./a", "{m}"}, ""},
		{{"n=1", "m:=n", "./a", "{n}"}, ""},
		{{"n=1", "m:=", "./a", "{m}"}, ""},
		{{"n=1", "./a", "{{n}}"}, ""},
		{{"n=1.5:2.5:0.5", "./a", "{n}"}, ""},
		{{"n=9223372036854775807:0:-1", "./a", "{n}"}, ""},
		{{"n=0:-9223372036854775808:-9223372036854775808", "./a", "{n}"},
		 "./a 0;./a -9223372036854775808;"},
		{{"n=1"}, ""},
		{{"./a", "{m}"}, ""},
		{{"n=1", "n=2", "./a", "{n}"}, ""},
		{{"n=1", "./a"}, ""},
		{{"n=1", "./a", "{n}{m}"}, ""},
		{{"n=", "./a", "{n}"}, ""},
		{{"n=1,,2", "./a", "{n}"}, ""},
		{{"n=2:1", "./a", "{n}"}, ""},
		{{"n=1:2:0", "./a", "{n}"}, ""},
		{{"n=1:2:-1", "./a", "{n}"}, ""},
		{{"n=1:2:1:1", "./a", "{n}"}, ""},
		{{"n=1:x", "./a", "{n}"}, ""},
		{{"n=0:9223372036854775807", "./a", "{n}"}, ""},
		{{"n=1:99999999999999999999", "./a", "{n}"}, ""},
		{{"n=1:1000", "m=1:1000", "./a", "{n}{m}"}, ""},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const char *words[7] = {NULL};
		char text[256];
		memcpy(words, cases[i].words, sizeof(cases[i].words));
		commands(words, text, sizeof(text));
		cr_expect_str_eq(text, cases[i].commands, "case %zu", i);
	}
}
