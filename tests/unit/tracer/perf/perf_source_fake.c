#include "tests/unit/tracer/perf/perf_source_fake.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Of the events of PERF_TYPE_HARDWARE, those that have a counter of their own. */
static bool is_fixed(const struct perf_event_attr *attr)
{
	return attr->type == PERF_TYPE_HARDWARE && (attr->config == PERF_COUNT_HW_CPU_CYCLES ||
						    attr->config == PERF_COUNT_HW_INSTRUCTIONS ||
						    attr->config == PERF_COUNT_HW_REF_CPU_CYCLES);
}

static bool fault(struct fake *fake, enum fake_call call, const struct perf_event_attr *attr)
{
	for (int i = 0; i < FAKE_FAULTS; i++) {
		struct fake_fault *one = &fake->faults[i];
		if (!one->set || one->call != call ||
		    (one->config != UINT64_MAX &&
		     (attr->type == PERF_TYPE_SOFTWARE || one->config != attr->config)) ||
		    (one->sampled_only && !attr->sample_period))
			continue;
		if (one->skip > 0) {
			one->skip--;
			continue;
		}
		errno = one->errnum;
		return true;
	}
	return false;
}

static unsigned general_in(const struct fake *fake, int leader)
{
	unsigned n = 0;
	for (int fd = 0; fd < FAKE_EVENTS; fd++) {
		const struct fake_event *event = &fake->events[fd];
		n += event->open && event->group == leader &&
		     event->attr.type != PERF_TYPE_SOFTWARE && !is_fixed(&event->attr);
	}
	return n;
}

static int refuse(int errnum)
{
	errno = errnum;
	return -1;
}

static int fake_open(void *context, const struct perf_event_attr *attr, pid_t pid, int cpu,
		     int group)
{
	struct fake *fake = context;
	int fd = 3;
	if (fault(fake, FAKE_OPEN, attr))
		return -1;
	if (fake->n_cpus && cpu >= fake->n_cpus)
		return refuse(ENODEV);
	if (attr->type != PERF_TYPE_SOFTWARE && !fake->hardware)
		return refuse(ENOENT);
	if (attr->precise_ip > fake->max_precise)
		return refuse(EOPNOTSUPP);
	if (attr->inherit_thread && fake->old)
		return refuse(EINVAL);
	if (group >= 0 && (!fake->events[group].open || fake->events[group].cpu != cpu))
		return refuse(EINVAL);
	while (fd < FAKE_EVENTS && fake->events[fd].open)
		fd++;
	if (fd == FAKE_EVENTS)
		return refuse(EMFILE);
	fake->events[fd] = (struct fake_event){
		.open = true,
		.attr = *attr,
		.pid = pid,
		.cpu = cpu,
		.group = group < 0 ? fd : group,
		.output = fd,
		.enabled_now = !attr->disabled,
	};
	if (general_in(fake, fake->events[fd].group) > fake->general) {
		fake->events[fd].open = false;
		return refuse(EINVAL);
	}
	fake->n_open++;
	return fd;
}

static ssize_t fake_read(void *context, int fd, void *buffer, size_t size)
{
	struct fake *fake = context;
	const struct fake_event *event = &fake->events[fd];
	const uint64_t values[3] = {event->value, event->enabled, event->running};
	if (fault(fake, FAKE_READ, &event->attr))
		return -1;
	if (event->ended)
		return 0;
	if (size > sizeof(values))
		size = sizeof(values);
	if (event->truncated)
		size /= 2;
	memcpy(buffer, values, size);
	return (ssize_t)size;
}

static int fake_control(void *context, int fd, unsigned long request, uintptr_t argument)
{
	struct fake *fake = context;
	struct fake_event *event = &fake->events[fd];
	if (fault(fake, FAKE_CONTROL, &event->attr))
		return -1;
	if (request == PERF_EVENT_IOC_DISABLE && fake->runs && event->enabled_now)
		fake_pass(fake, event->cpu, 1000, 1);
	if (request == PERF_EVENT_IOC_ENABLE || request == PERF_EVENT_IOC_DISABLE)
		event->enabled_now = request == PERF_EVENT_IOC_ENABLE;
	else if (request == PERF_EVENT_IOC_RESET)
		event->value = 0;
	else if (request == PERF_EVENT_IOC_ID)
		*(uint64_t *)argument = fake_id(fd);
	else if (request == PERF_EVENT_IOC_SET_OUTPUT && fake->events[argument].cpu == event->cpu)
		event->output = (int)argument;
	else
		return refuse(EINVAL);
	return 0;
}

static void *fake_map(void *context, int fd, size_t size)
{
	struct fake *fake = context;
	struct fake_event *event = &fake->events[fd];
	const size_t pages = size / (size_t)sysconf(_SC_PAGESIZE) - 1;
	if (fault(fake, FAKE_MAP, &event->attr))
		return MAP_FAILED;
	if (event->attr.inherit && event->cpu < 0)
		errno = EINVAL;
	else if (fake->max_pages && pages > fake->max_pages)
		errno = EPERM;
	else if ((event->mapping = calloc(1, size)))
		event->mapping_size = size;
	if (event->mapping)
		fake->n_mapped++;
	return event->mapping ? event->mapping : MAP_FAILED;
}

static void fake_unmap(void *context, void *mapping, size_t size)
{
	struct fake *fake = context;
	for (int fd = 0; fd < FAKE_EVENTS; fd++)
		if (fake->events[fd].mapping == mapping)
			fake->events[fd].mapping = NULL;
	fake->n_mapped--;
	free(mapping);
}

static void fake_close(void *context, int fd)
{
	struct fake *fake = context;
	fake->events[fd].open = false;
	fake->n_open--;
}

void fake_init(struct fake *fake)
{
	memset(fake, 0, sizeof(*fake));
	fake->source = (struct perf_source){
		.name = "simulated",
		.open = fake_open,
		.read = fake_read,
		.control = fake_control,
		.map = fake_map,
		.unmap = fake_unmap,
		.close = fake_close,
		.context = fake,
	};
	fake->general = 4;
	fake->hardware = true;
	fake->max_precise = 3;
}

void fake_fail(struct fake *fake, enum fake_call call, int errnum, unsigned skip, uint64_t config)
{
	for (int i = 0; i < FAKE_FAULTS; i++)
		if (!fake->faults[i].set) {
			fake->faults[i] =
				(struct fake_fault){true, call, errnum, skip, config, false};
			return;
		}
	abort();
}

/* A member of a group is on when its leader is. */
static bool is_on(const struct fake *fake, const struct fake_event *event)
{
	return event->open && event->enabled_now && fake->events[event->group].enabled_now;
}

static bool has_counter(const struct fake *fake, const struct fake_event *event)
{
	return event->attr.type == PERF_TYPE_SOFTWARE || !fake->usable ||
	       general_in(fake, event->group) <= fake->usable;
}

void fake_happen(struct fake *fake, int cpu, uint64_t config, uint64_t n)
{
	for (int fd = 0; fd < FAKE_EVENTS; fd++) {
		struct fake_event *event = &fake->events[fd];
		if (is_on(fake, event) && event->attr.type != PERF_TYPE_SOFTWARE &&
		    event->attr.config == config && (event->cpu < 0 || event->cpu == cpu) &&
		    has_counter(fake, event))
			event->value += n;
	}
}

void fake_pass(struct fake *fake, int cpu, uint64_t ns, double share)
{
	for (int fd = 0; fd < FAKE_EVENTS; fd++) {
		struct fake_event *event = &fake->events[fd];
		if (!is_on(fake, event))
			continue;
		event->enabled += ns;
		if ((event->cpu >= 0 && event->cpu != cpu) || !has_counter(fake, event))
			continue;
		event->running += event->attr.type == PERF_TYPE_SOFTWARE
					  ? ns
					  : (uint64_t)((double)ns * share);
	}
}

void fake_pass_group(struct fake *fake, int leader, uint64_t ns)
{
	const int cpu = fake->events[leader].cpu;
	for (int fd = 0; fd < FAKE_EVENTS; fd++) {
		struct fake_event *event = &fake->events[fd];
		if (!is_on(fake, event))
			continue;
		event->enabled += ns;
		if (event->group == leader || (event->attr.type == PERF_TYPE_SOFTWARE &&
					       (event->cpu < 0 || event->cpu == cpu)))
			event->running += ns;
	}
}

void fake_exec(struct fake *fake)
{
	for (int fd = 0; fd < FAKE_EVENTS; fd++)
		fake->events[fd].enabled_now |= fake->events[fd].attr.enable_on_exec;
}

int fake_find(const struct fake *fake, int cpu, uint64_t config)
{
	for (int fd = 0; fd < FAKE_EVENTS; fd++) {
		const struct fake_event *event = &fake->events[fd];
		if (event->open && event->cpu == cpu && event->attr.type != PERF_TYPE_SOFTWARE &&
		    event->attr.config == config)
			return fd;
	}
	return -1;
}

uint64_t fake_id(int fd)
{
	return 1000 + (uint64_t)fd;
}

void fake_write(struct fake *fake, int fd, uint32_t type, const void *body, size_t size)
{
	struct fake_event *ring = &fake->events[fake->events[fd].output];
	const size_t page = (size_t)sysconf(_SC_PAGESIZE), room = ring->mapping_size - page;
	struct perf_event_mmap_page *control = (struct perf_event_mmap_page *)ring->mapping;
	const struct perf_event_header header = {type, PERF_RECORD_MISC_USER,
						 (uint16_t)(sizeof(header) + size)};
	for (size_t i = 0; i < sizeof(header) + size; i++)
		ring->mapping[page + (control->data_head + i) % room] =
			i < sizeof(header) ? ((const uint8_t *)&header)[i]
					   : ((const uint8_t *)body)[i - sizeof(header)];
	control->data_head += sizeof(header) + size;
}

void fake_sample(struct fake *fake, int fd, uint64_t time, uint64_t ip, uint32_t pid, uint32_t tid)
{
	const uint64_t body[] = {fake_id(fd), ip, (uint64_t)tid << 32 | pid, time};
	fake_write(fake, fd, PERF_RECORD_SAMPLE, body, sizeof(body));
}

void fake_lost(struct fake *fake, int fd, uint64_t n)
{
	const uint64_t body[] = {fake_id(fd), n, 0, 0, fake_id(fd)};
	fake_write(fake, fd, PERF_RECORD_LOST, body, sizeof(body));
}
