/* One of many_libraries.c's. */
__attribute__((visibility("default"))) long add(long sum)
{
	return sum + 1;
}
