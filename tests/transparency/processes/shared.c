/* What processes share: memory, semaphores, messages, locks, descriptors.
 * @cases memory semaphore sysv locks descriptors fifo readv */
#include "../own.h"

#include <semaphore.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>

static void memory(void)
{
	volatile int *shared = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid = fork();

	for (int i = 0; i < 100000; i++)
		__atomic_add_fetch(shared, 1, __ATOMIC_RELAXED);
	if (pid == 0)
		_exit(0);
	CHECK(ended(pid) == 0 && *shared == 200000);
}

static void semaphore(void)
{
	sem_t *pair = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	volatile int *turns = (int *)(pair + 2);

	sem_init(&pair[0], 1, 0);
	sem_init(&pair[1], 1, 0);
	pid_t pid = fork();
	const int me = pid == 0;

	for (int i = 0; i < 200; i++) {
		if (i || me)
			sem_wait(&pair[me]);
		++*turns;
		sem_post(&pair[!me]);
	}
	if (me)
		_exit(0);
	CHECK(ended(pid) == 0 && *turns == 400);
}

static void sysv(void)
{
	struct { long type; char text[8]; } message = { 3, "message" };
	int id = shmget(IPC_PRIVATE, PAGE, 0600), queue = msgget(IPC_PRIVATE, 0600);
	char *shared = shmat(id, NULL, 0);

	MUST(id >= 0 && queue >= 0 && shared != (void *)-1);
	pid_t pid = fork();

	if (pid == 0) {
		strcpy(shared, "from the child");
		_exit(msgsnd(queue, &message, 8, 0) != 0);
	}
	memset(message.text, 0, 8);
	CHECK(msgrcv(queue, &message, 8, 3, 0) == 8 && !strcmp(message.text, "message"));
	CHECK(ended(pid) == 0 && !strcmp(shared, "from the child"));
	shmdt(shared);
	shmctl(id, IPC_RMID, NULL);
	msgctl(queue, IPC_RMID, NULL);
}

static void locks(void)
{
	int fd = open("locked", O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	struct flock lock = { .l_type = F_WRLCK, .l_len = 10 };

	CHECK(flock(fd, LOCK_EX) == 0 && fcntl(fd, F_SETLK, &lock) == 0);
	pid_t pid = fork();

	if (pid == 0) {
		int other = open("locked", O_RDWR), seen = flock(other, LOCK_EX | LOCK_NB) == -1;

		seen += fcntl(other, F_SETLK, &lock) == -1;
		seen += fcntl(other, F_GETLK, &lock) == 0 && lock.l_pid == getppid();
		lock.l_start = 20;
		lock.l_pid = 0;
		lock.l_type = F_WRLCK;
		seen += fcntl(other, F_OFD_SETLK, &lock) == 0;
		_exit(seen);
	}
	CHECK(ended(pid) == 4);
	close(fd);
}

static void descriptors(void)
{
	int pair[2], ends[2], got;
	char room[CMSG_SPACE(sizeof(int))] = "", byte = 'x';
	struct iovec data = { &byte, 1 };
	struct msghdr message = { .msg_iov = &data, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof(room) };

	MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0 && pipe(ends) == 0);
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);

	*header = (struct cmsghdr){ CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS };
	pid_t pid = fork();

	if (pid == 0) {
		memcpy(CMSG_DATA(header), &ends[1], sizeof(int));
		_exit(sendmsg(pair[1], &message, 0) != 1);
	}
	CHECK(recvmsg(pair[0], &message, 0) == 1 && ended(pid) == 0);
	memcpy(&got, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(got));
	CHECK(write(got, "y", 1) == 1 && read(ends[0], &byte, 1) == 1 && byte == 'y');
	printf("got descriptor %d\n", got);
}

static void fifo(void)
{
	char text[32] = "";

	MUST(mkfifo("fifo", 0600) == 0);
	pid_t pid = fork();
	int fd = open("fifo", pid ? O_RDONLY : O_WRONLY);

	if (pid == 0)
		_exit(write(fd, "through it", 10) != 10);
	CHECK(read(fd, text, sizeof(text)) == 10 && !strcmp(text, "through it"));
	CHECK(ended(pid) == 0);
	close(fd);
	unlink("fifo");
}

static void read_other(void)
{
	static volatile int value = 1;
	int ends[2], seen = 0;
	char byte;

	MUST(pipe(ends) == 0);
	pid_t pid = fork();

	if (pid == 0) {
		value = 77;
		_exit(write(ends[1], "x", 1) == 1 ? pause() : 1);
	}
	CHECK(read(ends[0], &byte, 1) == 1);
	struct iovec here = { &seen, sizeof(seen) }, there = { (void *)&value, sizeof(value) };

	CHECK(process_vm_readv(pid, &here, 1, &there, 1, 0) == sizeof(seen) && seen == 77);
	kill(pid, SIGKILL);
	CHECK(ended(pid) == 1000 + SIGKILL);
}

int main(int argc, char **argv)
{
	const char *names[] = { "memory", "semaphore", "sysv", "locks", "descriptors", "fifo", "readv" };
	void (*const parts[])(void) = { memory, semaphore, sysv, locks, descriptors, fifo, read_other };

	for (int i = 0; i < 7; i++)
		if (!strcmp(argv[argc - 1], names[i]))
			parts[i]();
	return done();
}
