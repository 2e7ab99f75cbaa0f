/* C++20 coroutines: generators that call each other, one that throws.
 * @flags -std=c++20 */
#include <coroutine>
#include <cstdio>
#include <exception>
#include <stdexcept>

struct generator {
	struct promise_type {
		long value = 0;
		generator get_return_object() { return { std::coroutine_handle<promise_type>::from_promise(*this) }; }
		std::suspend_always initial_suspend() { return {}; }
		std::suspend_always final_suspend() noexcept { return {}; }
		std::suspend_always yield_value(long next) { value = next; return {}; }
		void return_void() {}
		void unhandled_exception() { throw; }
	};
	std::coroutine_handle<promise_type> handle;
	bool next() { handle.resume(); return !handle.done(); }
	long value() const { return handle.promise().value; }
};

static generator count(long from)
{
	for (long i = from;; i++)
		co_yield i;
}

static generator squares(int n)
{
	generator inner = count(1);

	for (int i = 0; i < n && inner.next(); i++)
		co_yield inner.value() * inner.value();
	inner.handle.destroy();
	throw std::runtime_error("no more");
}

int main()
{
	generator numbers = squares(1000);
	long sum = 0;

	try {
		while (numbers.next())
			sum += numbers.value();
	} catch (const std::runtime_error &error) {
		printf("%s, ", error.what());
	}
	numbers.handle.destroy();
	printf("sum %ld\n", sum);
	return sum != 333833500;
}
