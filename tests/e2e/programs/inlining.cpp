// Much of the standard library, inlined many levels deep: what a reference has to say the same about.
#include <algorithm>
#include <complex>
#include <iostream>
#include <map>
#include <numeric>
#include <random>
#include <regex>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

namespace {
struct local {
	double a;
	double twice() const { return 2 * a; }
};
} // namespace

template <class T> static T poly(T x, int n)
{
	return n == 0 ? T(1) : x * poly(x, n - 1) + T(n);
}

int main()
{
	std::mt19937 next(1);
	std::vector<double> values(20000);
	std::generate(values.begin(), values.end(), [&] { return next() * 1e-9; });
	std::sort(values.begin(), values.end());
	std::string text;
	for (int i = 0; i < 2000; i++)
		text += "w" + std::to_string(next() % 97) + " ";
	std::istringstream in(text);
	std::map<std::string, int> words;
	for (std::string word; in >> word;)
		words[word]++;
	std::unordered_map<int, std::string> names;
	for (auto &pair : words)
		names[pair.second] = pair.first;
	std::regex expression("w([0-9]+)[13579]");
	int odd = 0;
	for (auto it = std::sregex_iterator(text.begin(), text.end(), expression); it != std::sregex_iterator(); ++it)
		odd++;
	std::complex<double> product(0, 1);
	for (double value : values)
		product = product * value + poly(value, 3) + local{value}.twice();
	std::cout << std::accumulate(values.begin(), values.end(), 0.0) << product << odd << names.size() << "\n";
}
