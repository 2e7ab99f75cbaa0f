// Inlined members, templates that are inlined into themselves, and lambdas; the truth is as that of inlined.c.
#include <cstdint>
#include <cstdio>

#define INLINE __attribute__((always_inline)) inline

namespace shapes {

struct point {
	double x, y;
	INLINE double length2() const { return x * x + y * y; }
};

template <int N> struct poly {
	static INLINE double at(double x) { return poly<N - 1>::at(x) * x + 0.5 * N; }
};

template <> struct poly<0> {
	static INLINE double at(double x) { return x - 1; }
};

template <typename T> INLINE T largest_plus(T a, T b)
{
	return (a > b ? a : b) + b;
}

} // namespace shapes

static volatile int repetitions = 4000;
static volatile double sink = 0.5;

__attribute__((noinline)) static double near(double a)
{
	return shapes::poly<2>::at(a) - shapes::point{a, 2}.length2();
}

__attribute__((noinline)) static double far(double a)
{
	auto shift = [](double b) __attribute__((always_inline)) { return b + 7; };
	return shift(shapes::point{a, sink}.length2());
}

int main()
{
	const int n = repetitions;

	for (int i = 0; i < n; i++) {
		sink = near(sink);
		sink = far(sink);
		sink = shapes::largest_plus<double>(sink, 3);
		sink = shapes::largest_plus<float>(static_cast<float>(sink), 2);
		sink = 0.5;
	}
	std::printf("truth kernel='shapes::point::length2() const' flop=%d\n", 5 * n);
	std::printf("truth kernel='shapes::poly<2>::at(double)' flop=%d\n", 2 * n);
	std::printf("truth kernel='shapes::poly<1>::at(double)' flop=%d\n", 2 * n);
	std::printf("truth kernel='shapes::poly<0>::at(double)' flop=%d\n", n);
	std::printf("truth kernel='double shapes::largest_plus<double>(double, double)' flop=%d\n", n);
	std::printf("truth kernel='float shapes::largest_plus<float>(float, float)' flop=%d\n", n);
	std::printf("truth kernel='operator()' flop=%d\n", n);
	std::printf("truth kernel='near(double)' flop=%d\n", n);
	return 0;
}
