/* Finds what a mistyped word may have meant: the fewest letters that are missing, too many, other
 * ones or swapped (optimal string alignment: Boytsov, "Indexing methods for approximate dictionary
 * searching", JEA 16, 2011, section 2.2). */
#include "cli/nearest.h"

#include <ctype.h>
#include <string.h>

enum { MOST_LETTERS = 31 };       /* no word here is longer */
enum { LEAST_FOR_BEGINNING = 3 }; /* a beginning that is shorter says nothing */

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static bool same(char a, char b)
{
	return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* Both have at most MOST_LETTERS. */
static size_t distance(const char *a, size_t n, const char *b, size_t m)
{
	size_t d[MOST_LETTERS + 1][MOST_LETTERS + 1];
	for (size_t i = 0; i <= n; i++)
		d[i][0] = i;
	for (size_t j = 0; j <= m; j++)
		d[0][j] = j;
	for (size_t i = 1; i <= n; i++)
		for (size_t j = 1; j <= m; j++) {
			d[i][j] = least(least(d[i - 1][j], d[i][j - 1]) + 1,
					d[i - 1][j - 1] + !same(a[i - 1], b[j - 1]));
			if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1]))
				d[i][j] = least(d[i][j], d[i - 2][j - 2] + 1);
		}
	return d[n][m];
}

struct nearest nearest_to(const char *written)
{
	const size_t length = strcspn(written, "=");
	/* a third of the letters may be wrong: of more, other words are as near */
	return (struct nearest){written, length, NULL, (length + 2) / 3 + 1};
}

void nearest_offer(struct nearest *nearest, const char *word)
{
	const size_t m = strlen(word), n = nearest->length;
	if (n > MOST_LETTERS || m > MOST_LETTERS || !n)
		return;
	const bool begins = n >= LEAST_FOR_BEGINNING && strncmp(nearest->written, word, n) == 0;
	const size_t away = begins ? 1 : distance(nearest->written, n, word, m);
	if (away >= nearest->distance || away >= n)
		return;
	nearest->word = word;
	nearest->distance = away;
}
