/* User and kernel time of threads: whatever their samples, they add up to the run's. */
#include "report/account/account.h"
#include "tests/unit/splitmix.h"

#include <criterion/criterion.h>
#include <math.h>

enum { ROUNDS = 2000, MOST_THREADS = 12, MOST_SAMPLES = 40 };

static uint64_t state = 7;

static uint64_t below(uint64_t n)
{
	return random_number(&state) % n;
}

/* Threads that ran for times made by chance, sampled by chance, some not at all. */
static void check_round(int round)
{
	char kernel_name[] = PROFILE_KERNEL_MODULE, own_name[] = "/program";
	struct profile_module modules[] = {{.path = own_name}, {.path = kernel_name}};
	struct profile_frame frames[] = {{PROFILE_NONE, 0, 0}, {0, 1, 0}};
	struct profile_thread_time times[MOST_THREADS] = {0};
	struct profile_sample samples[MOST_SAMPLES] = {0};
	struct profile profile = {.modules = modules,
				  .n_modules = 2,
				  .frames = frames,
				  .n_frames = 2,
				  .thread_times = times,
				  .n_thread_times = 1 + below(MOST_THREADS),
				  .n_threads = MOST_THREADS,
				  .samples = samples,
				  .n_samples = below(MOST_SAMPLES)};
	double ran_s = 0, user_s = 0, kernel_s = 0;
	for (size_t i = 0; i < profile.n_thread_times; i++) {
		times[i] = (struct profile_thread_time){.thread = (uint32_t)i,
							.ran_ns = below(1000000000)};
		ran_s += (double)times[i].ran_ns * 1e-9;
	}
	for (size_t i = 0; i < profile.n_samples; i++)
		samples[i] =
			(struct profile_sample){.thread = (uint32_t)below(profile.n_thread_times),
						.weight_ns = 1 + below(1000000),
						.frame = below(3) > 0};
	const struct account account = {.samples_kernel = below(2),
					.kernel_s = ran_s * (double)below(101) / 100};
	struct account_thread *threads = account_threads(&profile, &account);
	cr_assert(threads);
	for (size_t i = 0; i < profile.n_thread_times; i++) {
		cr_assert(threads[i].user_s >= -1e-12 && threads[i].kernel_s >= -1e-12,
			  "round %d, thread %zu: user %g s, kernel %g s", round, i,
			  threads[i].user_s, threads[i].kernel_s);
		cr_assert_float_eq(threads[i].user_s + threads[i].kernel_s,
				   (double)times[i].ran_ns * 1e-9, 1e-9);
		user_s += threads[i].user_s;
		kernel_s += threads[i].kernel_s;
	}
	cr_assert_float_eq(kernel_s, account.kernel_s, 1e-9, "round %d: kernel %g s of %g s", round,
			   kernel_s, account.kernel_s);
	cr_assert_float_eq(user_s, ran_s - account.kernel_s, 1e-9);
}

Test(account_threads, user_and_kernel_time_add_up_to_the_runs)
{
	for (int round = 0; round < ROUNDS; round++)
		check_round(round);
}
