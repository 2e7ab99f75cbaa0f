/* Exceptions in many threads at once, and out of them by futures; a cancelled thread unwinds.
 * @cases threads future cancel */
#include <atomic>
#include <cstdio>
#include <cstring>
#include <future>
#include <pthread.h>
#include <stdexcept>
#include <thread>
#include <unistd.h>
#include <vector>

static std::atomic<int> caught, destroyed;

struct guard {
	~guard() { destroyed++; }
};

__attribute__((noinline)) static int dive(int depth)
{
	guard here;

	if (depth == 0)
		throw std::out_of_range("bottom");
	return dive(depth - 1) + 1;
}

static void throws_often()
{
	for (int i = 0; i < 100; i++)
		try {
			dive(i % 20);
		} catch (const std::logic_error &) {
			caught++;
		}
}

static void *waits(void *)
{
	guard here;

	for (;;)
		pause();
	return nullptr;
}

int main(int, char **argv)
{
	if (!strcmp(argv[1], "threads")) {
		std::vector<std::thread> threads;

		for (int i = 0; i < 6; i++)
			threads.emplace_back(throws_often);
		for (auto &thread : threads)
			thread.join();
	} else if (!strcmp(argv[1], "future")) {
		for (int i = 0; i < 20; i++)
			try {
				std::async(std::launch::async, dive, i).get();
			} catch (const std::out_of_range &error) {
				caught += !strcmp(error.what(), "bottom");
			}
	} else {
		pthread_t thread;

		pthread_create(&thread, nullptr, waits, nullptr);
		usleep(5000);
		pthread_cancel(thread);
		pthread_join(thread, nullptr);
	}
	printf("caught %d, destroyed %d\n", caught.load(), destroyed.load());
	return 0;
}
