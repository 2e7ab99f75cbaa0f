// Collects lines in many logs at once.  Its problem: each log grows by one line at a time and no more, so that for each line
// all that is there is copied into new memory.
#include <cstdio>
#include <vector>

static const size_t logs = 64, lines = 2200, length = 64;

static void append(std::vector<char> &log, char letter)
{
	log.reserve(log.size() + length);
	log.insert(log.end(), length, letter);
}

int main()
{
	std::vector<std::vector<char>> all(logs);
	unsigned sum = 0;

	for (size_t i = 0; i < lines * logs; i++)
		append(all[i % logs], static_cast<char>('a' + i % 26));
	for (const std::vector<char> &log : all)
		for (size_t i = 0; i < log.size(); i += length)
			sum += static_cast<unsigned char>(log[i]);
	std::printf("%u\n", sum);
	return 0;
}
