// C++: demangled names tell a template's instances and a namespace's members apart.
#include <cstdint>
#include <cstdio>
#include <vector>

namespace kernels {

template <typename T> __attribute__((noinline)) T dot(const T *x, const T *y, int n)
{
	T total = 0;

	for (int i = 0; i < n; i++)
		total += x[i] * y[i];
	return total;
}

struct scaler {
	double factor;
	__attribute__((noinline)) void apply(double *x, int n) const
	{
		for (int i = 0; i < n; i++)
			x[i] *= factor;
	}
};

} // namespace kernels

static void truth(const char *kernel, int flop, const char *kinds)
{
	std::printf("truth kernel='%s' flop=%d %s\n", kernel, flop, kinds);
}

int main()
{
	constexpr int n = 5000;
	std::vector<double> x(n, 1.5), y(n, 2);
	std::vector<float> u(n, 0.5f), v(n, 4);
	double total = kernels::dot(x.data(), y.data(), n);

	kernels::scaler{0.5}.apply(x.data(), n);
	total += double(kernels::dot(u.data(), v.data(), n)) + x[7];
	std::printf("sum %.17g\n", total);
	truth("double kernels::dot<double>(double const*, double const*, int)", 2 * n,
	      "mul_double_scalar=5000 add_double_scalar=5000");
	truth("float kernels::dot<float>(float const*, float const*, int)", 2 * n,
	      "mul_single_scalar=5000 add_single_scalar=5000");
	truth("kernels::scaler::apply(double*, int) const", n, "mul_double_scalar=5000");
	return 0;
}
