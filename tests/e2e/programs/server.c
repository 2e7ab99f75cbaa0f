/* A server on a pair of pipes' worth of a socket: `server PATH THREADS` listens on a unix socket, takes requests "NUMBER\n" by
 * epoll, has THREADS workers that wait on a condition compute NUMBER² + 1 each, and answers in the order in which they
 * are done: "NUMBER RESULT\n".  A timer's signals come all the time; a number that ends in 999 is computed by a child process, one
 * that ends in 500 by a thread of its own.  Ends at end of file, and says how many signals it had. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { QUEUE = 1 << 16 };

static long queue[QUEUE];
static unsigned taken, put;
static int ends, client;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, writing = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static volatile sig_atomic_t n_signals;

static void on_alarm(int number)
{
	(void)number;
	n_signals++;
}

static void write_all(int to, const char *text, size_t size)
{
	while (size > 0) {
		const ssize_t n = write(to, text, size);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			_exit(4);
		text += n;
		size -= (size_t)n;
	}
}

static void answer(long number, long result)
{
	char text[64];
	const int n = snprintf(text, sizeof(text), "%ld %ld\n", number, result);
	pthread_mutex_lock(&writing);
	write_all(client, text, (size_t)n);
	pthread_mutex_unlock(&writing);
}

/* Some work, whose result is known. */
__attribute__((noinline)) static long compute(long number)
{
	volatile double x = 1;
	for (int i = 0; i < 2000; i++)
		x = x * 1.0000001 + 1e-9;
	return number * number + (x > 0);
}

static void in_child(long number)
{
	const pid_t pid = fork();
	if (pid == 0) /* who may hold the lock of answers here is not there */
		_exit(compute(number) == number * number + 1 ? 0 : 1);
	int status;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (pid < 0 || status)
		_exit(5);
	answer(number, number * number + 1);
}

static void *in_thread(void *number)
{
	answer((long)number, compute((long)number));
	return NULL;
}

static void serve(long number)
{
	pthread_t thread;
	if (number % 1000 == 999)
		in_child(number);
	else if (number % 1000 != 500)
		answer(number, compute(number));
	else if (pthread_create(&thread, NULL, in_thread, (void *)number) || pthread_join(thread, NULL))
		_exit(6);
}

static void *work(void *unused)
{
	for (;;) {
		pthread_mutex_lock(&lock);
		while (taken == put && !ends)
			pthread_cond_wait(&filled, &lock);
		if (taken == put) {
			pthread_mutex_unlock(&lock);
			return unused;
		}
		const long number = queue[taken++ % QUEUE];
		pthread_mutex_unlock(&lock);
		serve(number);
	}
}

static void enqueue(long number)
{
	pthread_mutex_lock(&lock);
	if (put - taken >= QUEUE)
		_exit(7);
	queue[put++ % QUEUE] = number;
	pthread_cond_signal(&filled);
	pthread_mutex_unlock(&lock);
}

/* Requests as they come, by any pieces. */
static void read_requests(void)
{
	char buffer[4096];
	long number = 0;
	struct epoll_event event = {.events = EPOLLIN};
	const int poll = epoll_create1(0);
	epoll_ctl(poll, EPOLL_CTL_ADD, client, &event);
	for (;;) {
		if (epoll_wait(poll, &event, 1, 1000) < 1)
			continue;
		const ssize_t n = read(client, buffer, sizeof(buffer));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		for (ssize_t i = 0; i < n; i++) {
			if (buffer[i] == '\n') {
				enqueue(number);
				number = 0;
			} else {
				number = number * 10 + (buffer[i] - '0');
			}
		}
	}
	close(poll);
}

int main(int n, char **words)
{
	const int n_threads = n > 2 ? atoi(words[2]) : 4;
	pthread_t *threads = calloc((size_t)n_threads, sizeof(*threads));
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
	const struct itimerval often = {{0, 3000}, {0, 3000}};
	const int listening = socket(AF_UNIX, SOCK_STREAM, 0);
	strncpy(address.sun_path, words[1], sizeof(address.sun_path) - 1);
	if (bind(listening, (struct sockaddr *)&address, sizeof(address)) || listen(listening, 1))
		return 1;
	client = accept(listening, NULL, NULL);
	if (client < 0)
		return 2;
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	for (int i = 0; i < n_threads; i++)
		pthread_create(&threads[i], NULL, work, NULL);
	read_requests();
	pthread_mutex_lock(&lock);
	ends = 1;
	pthread_cond_broadcast(&filled);
	pthread_mutex_unlock(&lock);
	for (int i = 0; i < n_threads; i++)
		pthread_join(threads[i], NULL);
	printf("%s\n", n_signals > 0 ? "signals came" : "no signal came");
	return 0;
}
