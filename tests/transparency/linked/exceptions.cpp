/* Exceptions in a static program: the unwinder finds its tables without a dynamic linker.
 * @flags -static */
#include <cstdio>
#include <stdexcept>
#include <string>

static int thrown;

struct Guard {
	~Guard() { thrown++; }
};

static int fall(int n)
{
	Guard guard;
	if (n == 0)
		throw std::runtime_error("bottom");
	return fall(n - 1) + 1;
}

int main()
{
	int caught = 0;
	for (int i = 0; i < 50; i++)
		try {
			fall(i);
		} catch (const std::runtime_error &error) {
			caught += std::string(error.what()) == "bottom";
		}
	std::printf("caught %d, destroyed %d\n", caught, thrown);
	return caught != 50;
}
