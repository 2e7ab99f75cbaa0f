/* Makes a text upper-case.  Its problem: the condition of the loop asks for the length of the text, which is counted anew
 * for each character, since the loop changes the text. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LENGTH = 220000 };

static void shout(char *text)
{
	for (size_t i = 0; i < strlen(text); i++)
		if (text[i] >= 'a' && text[i] <= 'z')
			text[i] = (char) (text[i] - 'a' + 'A');
}

int main(void)
{
	char *text = malloc(LENGTH + 1);

	for (int i = 0; i < LENGTH; i++)
		text[i] = (char) ('a' + i % 26);
	text[LENGTH] = 0;
	shout(text);
	printf("%.26s\n", text);
	free(text);
	return 0;
}
