// Exceptions through many frames, destructors in order, rethrown, from threads and constructors.
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>
#include <sys/resource.h>
#include <thread>

static std::string trail;

struct leaves_trail {
	char letter;
	~leaves_trail() { trail += letter; }
};

__attribute__((noinline)) static int dive(int depth)
{
	leaves_trail here{char('a' + depth % 26)};

	if (depth == 0)
		throw std::runtime_error("bottom");
	return dive(depth - 1) + 1;
}

__attribute__((noinline)) static int catches_and_rethrows(int depth)
{
	try {
		return dive(depth);
	} catch (const std::logic_error &) {
		return -1;
	} catch (...) {
		trail += '^';
		throw;
	}
}

static int rounds()
{
	int caught = 0;

	for (int i = 0; i < 200; i++) {
		try {
			catches_and_rethrows(i % 40);
		} catch (const std::exception &error) {
			caught += !std::strcmp(error.what(), "bottom");
		}
	}
	return caught;
}

int main(int argc, char **)
{
	if (argc > 1) {
		const struct rlimit no_core = {0, 0};

		setrlimit(RLIMIT_CORE, &no_core);
		throw std::runtime_error("nobody catches this");
	}
	int caught = rounds(), in_thread = 0;

	std::printf("%d caught, trail %zu, %.30s\n", caught, trail.size(), trail.c_str());
	std::thread([&] { in_thread = rounds(); }).join();
	std::printf("%d caught in a thread, trail %zu\n", in_thread, trail.size());
	try {
		(void)std::string("abc").at(7);
	} catch (const std::out_of_range &error) {
		std::printf("%s\n", error.what());
	}
	return 0;
}
