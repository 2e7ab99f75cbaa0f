/* Counts the words of a text by their lengths.  Its problem: each word is copied into memory of its own, which is given
 * back at once, so that malloc and free are most of the work. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 10000000 };

static size_t count_word(const char *word, size_t length)
{
	char *buffers[3];
	size_t sum = 0;

	/* The word, its stem and its ending. */
	for (size_t i = 0; i < 3; i++) {
		buffers[i] = malloc(length + 600 * i + 1);
		buffers[i][0] = word[i % length];
		buffers[i][length] = 0;
	}
	for (size_t i = 0; i < 3; i++) {
		sum += (size_t) buffers[i][0];
		free(buffers[i]);
	}
	return sum;
}

int main(void)
{
	const char *text = "nothing is so firmly believed as what we least know";
	size_t sum = 0;

	for (size_t i = 0; i < WORDS; i++)
		sum += count_word(text + i % 32, 3 + i % 13);
	printf("%zu\n", sum);
	return 0;
}
