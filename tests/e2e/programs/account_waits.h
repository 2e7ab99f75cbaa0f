/* The parts of account.c that wait until another thread, or another process, does something: a helper, which sleeps first. */
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

enum { MESSAGE = 16 };

OWN void sleep_ms(struct truth *truth, long ms)
{
	struct timespec time = {ms / 1000, ms % 1000 * 1000000};
	struct meter meter = start();

	need(clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL) == 0, "clock_nanosleep");
	add_wait(truth, "sleep", __func__, &meter);
	add_calls(truth, "clock_nanosleep", __func__, 1, 0);
}

/* What a helper does for a worker, each time after a sleep. */
struct errand {
	struct truth *truth;
	long times, apart;
	void (*wake)(struct errand *errand);
	int from, to; /* what the worker reads from, and the helper writes to */
	pthread_t worker, helper;
	pthread_mutex_t mutex;
	pthread_cond_t condition;
	pthread_barrier_t barrier;
	sem_t semaphore;
	bool done;
};

static void run_errand(struct errand *errand)
{
	for (long i = 0; i < errand->times; i++) {
		sleep_ms(errand->truth, errand->apart);
		errand->wake(errand);
	}
}

static void *helper(void *argument)
{
	struct errand *errand = argument;

	open_schedstat();
	struct meter life = start();

	run_errand(errand);
	add_life(errand->truth, &life);
	close_schedstat();
	return NULL;
}

static struct errand errand_for(struct part *part, struct truth *truth,
				void (*wake)(struct errand *errand))
{
	return (struct errand){.truth = &part->helpers[truth - part->workers],
			       .times = 1,
			       .apart = part->amount,
			       .wake = wake,
			       .worker = pthread_self(),
			       .mutex = PTHREAD_MUTEX_INITIALIZER,
			       .condition = PTHREAD_COND_INITIALIZER};
}

static void send_helper(struct errand *errand)
{
	need(pthread_create(&errand->helper, NULL, helper, errand) == 0, "pthread_create");
}

OWN void join_thread(struct truth *truth, pthread_t thread)
{
	struct meter meter = start();

	pthread_join(thread, NULL);
	add_wait(truth, "join", __func__, &meter);
}

OWN void write_message(struct errand *errand)
{
	char message[MESSAGE] = "a short message";

	message[MESSAGE - 1] = '\n'; /* a terminal passes on whole lines */
	need(write(errand->to, message, MESSAGE) == MESSAGE, "write");
	add_calls(errand->truth, "write", __func__, 1, MESSAGE);
}

static void open_pipe(struct errand *errand)
{
	int ends[2];

	need(pipe(ends) == 0, "pipe");
	errand->from = ends[0];
	errand->to = ends[1];
}

static void close_both(struct errand *errand)
{
	close(errand->from);
	close(errand->to);
}

OWN void read_pipe(struct truth *truth, struct errand *errand)
{
	char message[MESSAGE];

	for (long i = 0; i < errand->times; i++) {
		struct meter meter = start();

		need(read(errand->from, message, MESSAGE) == MESSAGE, "read");
		add_wait(truth, "pipe", __func__, &meter);
		add_calls(truth, "read", __func__, 1, MESSAGE);
	}
}

static void pipe_of_thread(struct part *part, struct truth *truth)
{
	struct errand errand = errand_for(part, truth, write_message);

	errand.times = part->amount;
	errand.apart = part->apart;
	open_pipe(&errand);
	send_helper(&errand);
	read_pipe(truth, &errand);
	join_thread(truth, errand.helper);
	close_both(&errand);
}

OWN void wait_socket(struct part *part, struct truth *truth)
{
	struct errand errand = errand_for(part, truth, write_message);
	char message[MESSAGE];
	int ends[2];

	need(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "socketpair");
	errand.from = ends[0];
	errand.to = ends[1];
	send_helper(&errand);
	struct meter meter = start();

	need(recv(errand.from, message, MESSAGE, 0) == MESSAGE, "recv");
	add_wait(truth, "socket", __func__, &meter);
	join_thread(truth, errand.helper);
	close_both(&errand);
}

OWN void wait_terminal(struct part *part, struct truth *truth)
{
	struct errand errand = errand_for(part, truth, write_message);
	char message[MESSAGE];

	errand.to = posix_openpt(O_RDWR | O_NOCTTY);
	need(errand.to >= 0 && grantpt(errand.to) == 0 && unlockpt(errand.to) == 0, "a terminal");
	errand.from = open(ptsname(errand.to), O_RDWR | O_NOCTTY);
	need(errand.from >= 0, "a terminal");
	send_helper(&errand);
	struct meter meter = start();

	need(read(errand.from, message, MESSAGE) == MESSAGE, "read");
	add_wait(truth, "terminal", __func__, &meter);
	join_thread(truth, errand.helper);
	close_both(&errand);
}

OWN void wait_poll(struct part *part, struct truth *truth)
{
	struct errand errand = errand_for(part, truth, write_message);

	open_pipe(&errand);
	send_helper(&errand);
	struct pollfd ready = {.fd = errand.from, .events = POLLIN};
	struct meter meter = start();

	need(poll(&ready, 1, -1) == 1, "poll");
	add_wait(truth, "poll", __func__, &meter);
	join_thread(truth, errand.helper);
	close_both(&errand);
}

static void raise_event(struct errand *errand)
{
	need(eventfd_write(errand->from, 1) == 0, "eventfd_write");
}

OWN void wait_event(struct part *part, struct truth *truth)
{
	struct errand errand = errand_for(part, truth, raise_event);
	eventfd_t value;

	errand.from = eventfd(0, 0);
	need(errand.from >= 0, "eventfd");
	send_helper(&errand);
	struct meter meter = start();

	need(eventfd_read(errand.from, &value) == 0, "eventfd_read");
	add_wait(truth, "event", __func__, &meter);
	join_thread(truth, errand.helper);
	close(errand.from);
}

static void send_signal(struct errand *errand)
{
	pthread_kill(errand->worker, SIGUSR1);
}

OWN void wait_signal(struct part *part, struct truth *truth)
{
	struct errand errand = errand_for(part, truth, send_signal);
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	send_helper(&errand);
	struct meter meter = start();

	need(sigwaitinfo(&set, NULL) == SIGUSR1, "sigwaitinfo");
	add_wait(truth, "signal", __func__, &meter);
	join_thread(truth, errand.helper);
}

static void signal_condition(struct errand *errand)
{
	pthread_mutex_lock(&errand->mutex);
	errand->done = true;
	pthread_cond_signal(&errand->condition);
	pthread_mutex_unlock(&errand->mutex);
}

OWN void wait_condition(struct part *part, struct truth *truth)
{
	struct errand errand = errand_for(part, truth, signal_condition);

	send_helper(&errand);
	struct meter meter = start();

	pthread_mutex_lock(&errand.mutex);
	while (!errand.done)
		pthread_cond_wait(&errand.condition, &errand.mutex);
	pthread_mutex_unlock(&errand.mutex);
	add_wait(truth, "condition", __func__, &meter);
	join_thread(truth, errand.helper);
}

static void come_to_barrier(struct errand *errand)
{
	pthread_barrier_wait(&errand->barrier);
}

OWN void wait_barrier(struct part *part, struct truth *truth)
{
	struct errand errand = errand_for(part, truth, come_to_barrier);

	pthread_barrier_init(&errand.barrier, NULL, 2);
	send_helper(&errand);
	struct meter meter = start();

	pthread_barrier_wait(&errand.barrier);
	add_wait(truth, "barrier", __func__, &meter);
	join_thread(truth, errand.helper);
}

static void post_semaphore(struct errand *errand)
{
	sem_post(&errand->semaphore);
}

OWN void wait_semaphore(struct part *part, struct truth *truth)
{
	struct errand errand = errand_for(part, truth, post_semaphore);

	sem_init(&errand.semaphore, 0, 0);
	send_helper(&errand);
	struct meter meter = start();

	need(sem_wait(&errand.semaphore) == 0, "sem_wait");
	add_wait(truth, "semaphore", __func__, &meter);
	join_thread(truth, errand.helper);
}

