/* An exception thrown from a handler through the frame of the fault.
 * @flags -fnon-call-exceptions */
#include <csignal>
#include <cstdio>
#include <cstring>
#include <stdexcept>

static int destroyed;

struct guard {
	~guard() { destroyed++; }
};

static void on_fault(int number)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, number);
	sigprocmask(SIG_UNBLOCK, &set, nullptr);
	throw std::runtime_error("a fault");
}

__attribute__((noinline)) static int load(volatile int *address)
{
	guard here;

	return *address;
}

int main()
{
	int caught = 0;

	signal(SIGSEGV, on_fault);
	for (int i = 0; i < 20; i++)
		try {
			load(reinterpret_cast<volatile int *>(8));
		} catch (const std::runtime_error &error) {
			caught += !strcmp(error.what(), "a fault");
		}
	printf("caught %d, destroyed %d\n", caught, destroyed);
	return 0;
}
