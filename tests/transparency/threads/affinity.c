/* A thread's processor, name, scheduling and small stack are its own. */
#include "../own.h"

#include <limits.h>
#include <pthread.h>
#include <sched.h>

static void *look(void *unused)
{
	cpu_set_t set;
	char name[16] = "", path[64], comm[32] = "";
	struct sched_param parameters = { 0 };
	int policy = -1;

	CPU_ZERO(&set);
	CPU_SET(0, &set);
	if (sched_setaffinity(0, sizeof(set), &set) == 0) {
		CHECK(sched_getaffinity(0, sizeof(set), &set) > 0 || CPU_COUNT(&set) == 1);
		CHECK(sched_getcpu() == 0);
	}
	pthread_setname_np(pthread_self(), "looker");
	pthread_getname_np(pthread_self(), name, sizeof(name));
	snprintf(path, sizeof(path), "/proc/self/task/%d/comm", gettid());
	int fd = open(path, O_RDONLY);

	CHECK(read(fd, comm, sizeof(comm) - 1) > 0);
	close(fd);
	pthread_getschedparam(pthread_self(), &policy, &parameters);
	printf("%s %s policy %d\n", name, comm, policy);
	return unused;
}

int main(void)
{
	pthread_attr_t small;
	pthread_t thread;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, PTHREAD_STACK_MIN + 8192);
	MUST(pthread_create(&thread, &small, look, NULL) == 0);
	pthread_join(thread, NULL);
	return done();
}
