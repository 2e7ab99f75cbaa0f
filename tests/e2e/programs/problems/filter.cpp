// Keeps the readings above a limit, many times.  Its problem: the readings are in no order, so that the processor guesses
// half of the branches wrong.
#include <cstdio>
#include <cstdlib>
#include <vector>

static const int readings = 1 << 22, passes = 24;

static long keep(const std::vector<int> &values, int limit, std::vector<int> &kept)
{
	long sum = 0;

	kept.clear();
	for (int value : values)
		if (value >= limit) {
			kept.push_back(value);
			sum += value;
		}
	return sum;
}

int main()
{
	std::vector<int> values, kept;
	long sum = 0;

	std::srand(7);
	for (int i = 0; i < readings; i++)
		values.push_back(std::rand() % 256);
	kept.reserve(readings);
	for (int i = 0; i < passes; i++)
		sum += keep(values, 128 + i % 2, kept);
	std::printf("%ld\n", sum);
	return 0;
}
