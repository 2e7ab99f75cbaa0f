/* Exceptions through many frames, nested, rethrown, carried by pointer, from destructors' frames.
 * @cases deep rethrown pointer uncaught terminate typed
 * @status uncaught: SIGABRT
 * @status terminate: 21 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>

static int destroyed;

struct guard {
	std::string text;
	explicit guard(int n) : text(static_cast<size_t>(n), 'x') {}
	~guard() { destroyed++; }
};

__attribute__((noinline)) static int dive(int depth)
{
	guard here(depth % 50 + 1);

	if (depth == 0)
		throw std::runtime_error("bottom");
	return dive(depth - 1) + static_cast<int>(here.text.size());
}

struct base { virtual ~base() = default; };
struct left : virtual base { int value = 1; };
struct right : virtual base { int value = 2; };
struct both : left, right {};

__attribute__((noinline)) static int thrown(int which)
{
	try {
		if (which == 0)
			throw both();
		if (which == 1)
			throw 42L;
		throw "text";
	} catch (const right &object) {
		return object.value;
	} catch (long number) {
		return static_cast<int>(number);
	} catch (...) {
		return -1;
	}
}

static int rethrown(int depth)
{
	try {
		return depth ? rethrown(depth - 1) : dive(3);
	} catch (const std::exception &) {
		if (depth == 9)
			return depth;
		throw;
	}
}

static void leave()
{
	printf("terminate, %d destroyed\n", destroyed);
	fflush(stdout);
	_Exit(21);
}

int main(int, char **argv)
{
	int sum = 0;

	if (!strcmp(argv[1], "deep")) {
		for (int i = 0; i < 100; i++)
			try {
				dive(i * 5);
			} catch (const std::runtime_error &error) {
				sum += static_cast<int>(strlen(error.what()));
			}
	} else if (!strcmp(argv[1], "rethrown")) {
		for (int i = 0; i < 50; i++)
			sum += rethrown(9);
	} else if (!strcmp(argv[1], "pointer")) {
		std::exception_ptr pointer;

		try {
			dive(10);
		} catch (...) {
			pointer = std::current_exception();
		}
		try {
			std::rethrow_exception(pointer);
		} catch (const std::exception &error) {
			printf("again %s\n", error.what());
		}
	} else if (!strcmp(argv[1], "typed")) {
		for (int i = 0; i < 300; i++)
			sum += thrown(i % 3);
	} else {
		if (!strcmp(argv[1], "terminate"))
			std::set_terminate(leave);
		dive(5);
	}
	printf("sum %d, destroyed %d\n", sum, destroyed);
	return 0;
}
