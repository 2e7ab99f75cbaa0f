#include "machine/topology/dmi.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A table under construction. */
static uint8_t table[1 << 20];
static size_t size;

/* What type 17 says; a field that is 0 is written as 0. */
struct module {
	const char *locator, *bank;
	unsigned data_width, size, speed, configured, extended_speed, extended_configured, type,
		technology, length; /* 0: 5ch, SMBIOS 3.3 */
};

static void put(size_t at, uint64_t value, int bytes)
{
	for (int i = 0; i < bytes; i++)
		table[at + i] = value >> 8 * i;
}

static void add_header(uint8_t type, uint8_t length)
{
	memset(table + size, 0, length);
	table[size] = type;
	table[size + 1] = length;
	put(size + 2, size, 2);
}

static void add_string(const char *text)
{
	memcpy(table + size, text, strlen(text) + 1);
	size += strlen(text) + 1;
}

static void add_module(struct module module)
{
	size_t at = size, length = module.length ? module.length : 0x5c;
	add_header(17, 0x5c);
	table[at + 1] = length;
	put(at + 0x08, module.data_width, 2);
	put(at + 0x0a, module.data_width, 2);
	put(at + 0x0c, module.size, 2);
	table[at + 0x10] = 1;
	table[at + 0x11] = module.bank ? 2 : 0;
	table[at + 0x12] = module.type;
	put(at + 0x15, module.speed, 2);
	put(at + 0x20, module.configured, 2);
	table[at + 0x28] = module.technology;
	put(at + 0x54, module.extended_speed, 4);
	put(at + 0x58, module.extended_configured, 4);
	size += length;
	add_string(module.locator);
	if (module.bank)
		add_string(module.bank);
	table[size++] = 0;
}

/* A structure of another type, as there are before and between. */
static void add_other(uint8_t type)
{
	add_header(type, 0x12);
	size += 0x12;
	add_string("BIOS");
	table[size++] = 0;
}

static void add_end(void)
{
	add_header(127, 4);
	size += 4;
	table[size++] = 0;
	table[size++] = 0;
}

static void add_modules(const char *const *locators, const char *const *banks, size_t n,
			struct module like)
{
	add_other(0);
	for (size_t i = 0; i < n; i++) {
		like.locator = locators[i];
		like.bank = banks ? banks[i] : NULL;
		add_module(like);
	}
	add_end();
}

static struct dmi_memory parsed(void)
{
	struct dmi_memory memory;
	struct rf_error *error = dmi_memory_parse(table, size, &memory);
	cr_assert_null(error, "%s", error ? error->message : "");
	return memory;
}

static void assert_refused(enum rf_error_code code, const char *says)
{
	struct dmi_memory memory, before;
	memset(&memory, 0x5a, sizeof(memory));
	before = memory;
	struct rf_error *error = dmi_memory_parse(table, size, &memory);
	cr_assert_not_null(error);
	cr_assert_eq(error->code, code);
	cr_assert_not_null(strstr(error->message, says), "%s", error->message);
	cr_assert_eq(memcmp(&memory, &before, sizeof(memory)), 0);
	rf_error_destroy(error);
}

static void reset(void)
{
	size = 0;
}

TestSuite(dmi, .init = reset);

static const struct module ddr4 = {.data_width = 64,
				   .size = 16384,
				   .speed = 3200,
				   .configured = 2933,
				   .type = 0x1a,
				   .technology = 3};

Test(dmi, one_module_is_one_channel_whatever_its_name)
{
	const char *const locators[] = {"RAM slot #0"};
	add_modules(locators, NULL, 1, ddr4);
	struct dmi_memory memory = parsed();
	cr_assert_eq(memory.gbs, 2933 * 1e6 * 64 / 8 / 1e9);
	cr_assert_eq(memory.devices, 1);
	cr_assert_eq(memory.channels, 1);
	cr_assert_eq(memory.mts, 2933);
	cr_assert_not(memory.upper_bound);
}

struct naming {
	const char *locators[8], *banks[8];
	int devices, channels;
	bool upper_bound;
};

Test(dmi, channels_are_read_from_locators)
{
	static const struct naming namings[] = {
		{{"P0_Node0_Channel0_Dimm0", "P0_Node0_Channel0_Dimm1", "P0_Node0_Channel2_Dimm1",
		  "P1_Node0_Channel0_Dimm0"},
		 {0},
		 4,
		 3,
		 false},
		{{"ChannelA-DIMM0", "ChannelA-DIMM1", "ChannelB-DIMM0", "ChannelB-DIMM1"},
		 {"BANK 0", "BANK 1", "BANK 2", "BANK 3"},
		 4,
		 2,
		 false},
		{{"Controller0-ChannelA-DIMM0", "Controller1-ChannelA-DIMM0"},
		 {"BANK 0", "BANK 0"},
		 2,
		 2,
		 false},
		{{"Controller0-ChannelA", "Controller0-ChannelB", "Controller0-ChannelC",
		  "Controller0-ChannelD"},
		 {0},
		 4,
		 4,
		 false},
		{{"DIMM 0", "DIMM 1", "DIMM 0", "DIMM 1"},
		 {"P0 CHANNEL A", "P0 CHANNEL A", "P0 CHANNEL B", "P0 CHANNEL B"},
		 4,
		 2,
		 false},
		{{"Channel 10 DIMM 0", "Channel 1 DIMM 0", "channel-1 dimm 1"}, {0}, 3, 3, false},
		{{"DIMM_A1", "DIMM_A2", "DIMM_B1", "DIMM_B2"}, {0}, 4, 2, false},
		{{"CPU0_DIMM_A1", "CPU0_DIMM_A2", "CPU1_DIMM_A1", "CPU1_DIMM_B1"},
		 {0},
		 4,
		 3,
		 false},
		{{"P1-DIMMA1", "P1-DIMMA2", "P2-DIMMA1"},
		 {"P0_Node0_Channel0_Dimm0", "P0_Node0_Channel0_Dimm1", "P1_Node1_Channel0_Dimm0"},
		 3,
		 2,
		 false},
		{{"DIMM_P0_A0", "DIMM_P0_A1", "DIMM_P1_A0"}, {0}, 3, 2, false},
		{{"CPU1_DIMM_A1", "CPU2_DIMM_A1"}, {"CHANNEL A", "CHANNEL A"}, 2, 2, false},
		/* not told: each counts */
		{{"DIMM 0", "DIMM 1", "DIMM 2"}, {0}, 3, 3, true},
		{{"DIMM3", "DIMM4"}, {0}, 2, 2, true},
		{{"PROC 1 DIMM 1", "PROC 1 DIMM 2"}, {0}, 2, 2, true},
		{{"A1", "A2", "B1"}, {0}, 3, 3, true},
		{{"", ""}, {0}, 2, 2, true},
		{{"Channel", "Channel-"}, {0}, 2, 2, true},
		/* the letter is a processor, as the fourth socket of a letter shows */
		{{"DIMM_A1", "DIMM_A2", "DIMM_A4", "DIMM_B1"}, {0}, 4, 4, true},
		/* firmware that gives all the same text */
		{{"ChannelA-DIMM0", "ChannelA-DIMM0"}, {0}, 2, 2, true},
		/* one of three is not told */
		{{"ChannelA-DIMM0", "ChannelA-DIMM1", "DIMM 7"}, {0}, 3, 2, true},
	};
	for (size_t i = 0; i < sizeof(namings) / sizeof(namings[0]); i++) {
		const struct naming *naming = &namings[i];
		size = 0;
		add_modules(naming->locators, naming->banks[0] ? naming->banks : NULL,
			    naming->devices, ddr4);
		struct dmi_memory memory = parsed();
		cr_assert_eq(memory.devices, naming->devices, "%s", naming->locators[0]);
		cr_assert_eq(memory.channels, naming->channels, "%s: %d", naming->locators[0],
			     memory.channels);
		cr_assert_eq(memory.upper_bound, naming->upper_bound, "%s", naming->locators[0]);
		cr_assert_float_eq(memory.gbs, naming->channels * 23.464, 1e-9, "%g", memory.gbs);
	}
}

Test(dmi, empty_sockets_do_not_count_but_tell_the_convention)
{
	struct module module = ddr4;
	for (int letter = 'A'; letter <= 'B'; letter++)
		for (int number = 1; number <= 6; number++) {
			char locator[16];
			snprintf(locator, sizeof(locator), "DIMM_%c%d", letter, number);
			module.locator = locator;
			module.size = number <= 2 ? 16384 : 0;
			module.configured = number <= 2 ? 2933 : 0;
			add_module(module);
		}
	struct dmi_memory memory = parsed();
	cr_assert_eq(memory.devices, 4);
	cr_assert_eq(memory.channels, 4);
	cr_assert(memory.upper_bound);
}

Test(dmi, soldered_devices_have_their_own_width)
{
	const char *const locators[] = {"DIMM 0", "DIMM 0", "DIMM 0", "DIMM 0"};
	const char *const banks[] = {"P0 CHANNEL A", "P0 CHANNEL B", "P0 CHANNEL C",
				     "P0 CHANNEL D"};
	struct module lpddr5 = {.data_width = 32,
				.size = 8192,
				.speed = 7500,
				.configured = 7500,
				.type = 0x23,
				.technology = 3};
	add_modules(locators, banks, 4, lpddr5);
	struct dmi_memory memory = parsed();
	cr_assert_eq(memory.gbs, 120);
	cr_assert_eq(memory.channels, 4);
	cr_assert_not(memory.upper_bound);
}

Test(dmi, a_channel_is_as_slow_as_its_slowest)
{
	struct module module = ddr4;
	module.locator = "DIMM_A1", module.configured = 3200;
	add_module(module);
	module.locator = "DIMM_A2", module.configured = 2400;
	add_module(module);
	module.locator = "DIMM_B1", module.configured = 3200;
	add_module(module);
	struct dmi_memory memory = parsed();
	cr_assert_eq(memory.gbs, 2400 * 8e-3 + 3200 * 8e-3);
	cr_assert_eq(memory.mts, 2400);
	cr_assert_eq(memory.channels, 2);
}

Test(dmi, speeds_of_17_bits_are_in_the_extended_fields)
{
	struct module module = ddr4;
	module.locator = "DIMM 0", module.configured = 0xffff, module.extended_configured = 70000;
	module.speed = 0xffff, module.extended_speed = 80000;
	add_module(module);
	struct dmi_memory memory = parsed();
	cr_assert_eq(memory.mts, 70000);
	cr_assert_not(memory.upper_bound);
	/* The top bit is reserved. */
	size = 0;
	module.extended_configured = 0x80000000 | 66000;
	add_module(module);
	cr_assert_eq(parsed().mts, 66000);
	/* An older structure that has no such field tells nothing there. */
	size = 0;
	module.length = 0x28;
	add_module(module);
	assert_refused(RF_EUNAVAILABLE, "speed");
}

Test(dmi, without_the_configured_speed_the_highest_is_an_upper_bound)
{
	struct module module = ddr4;
	module.locator = "DIMM 0", module.length = 0x1b; /* SMBIOS 2.3 */
	add_module(module);
	struct dmi_memory memory = parsed();
	cr_assert_eq(memory.mts, 3200);
	cr_assert(memory.upper_bound);
}

Test(dmi, other_memories_do_not_count)
{
	static const struct {
		unsigned type, technology;
	} others[] = {
		{0x05, 0}, {0x06, 0}, {0x08, 0}, {0x09, 0},
		{0x0c, 0}, {0x1f, 7}, {0x1a, 5}, {0x1a, 7},
	};
	struct module module = ddr4;
	module.locator = "DIMM_A1";
	add_module(module);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		module.locator = "FLASH", module.type = others[i].type,
		module.technology = others[i].technology;
		add_module(module);
	}
	cr_assert_eq(parsed().devices, 1);
}

/* QEMU: a memory device without speed and width. */
Test(dmi, a_virtual_machine_does_not_tell)
{
	struct module module = {.locator = "DIMM 0", .data_width = 0xffff, .size = 4096, .type = 7};
	add_module(module);
	add_end();
	assert_refused(RF_EUNAVAILABLE, "speed of memory device \"DIMM 0\"");
	size = 0;
	module.configured = 2400;
	add_module(module);
	assert_refused(RF_EUNAVAILABLE, "data width of memory device \"DIMM 0\"");
	size = 0;
	module.size = 0;
	add_module(module);
	assert_refused(RF_EUNAVAILABLE, "no memory device");
	size = 0;
	add_other(0);
	add_end();
	assert_refused(RF_EUNAVAILABLE, "no memory device");
	size = 0;
	assert_refused(RF_EUNAVAILABLE, "no memory device");
}

Test(dmi, every_truncation_is_refused)
{
	struct module module = ddr4;
	module.locator = "ChannelA-DIMM0", module.bank = "BANK 0";
	add_module(module);
	size_t whole = size;
	for (size = 1; size < whole; size++) {
		/* An exact allocation, so that the sanitizer sees a read behind the end. */
		uint8_t *cut = malloc(size);
		struct dmi_memory memory;
		memcpy(cut, table, size);
		struct rf_error *error = dmi_memory_parse(cut, size, &memory);
		cr_assert_not_null(error, "%zu bytes", size);
		cr_assert_eq(error->code, RF_EFORMAT);
		rf_error_destroy(error);
		free(cut);
	}
	size = whole;
	cr_assert_eq(parsed().devices, 1);
}

Test(dmi, hostile_structures_are_refused)
{
	add_header(17, 4);
	table[1] = 3; /* shorter than its header */
	size = 64;
	assert_refused(RF_EFORMAT, "does not end");
	memset(table, 0xff, size);
	assert_refused(RF_EFORMAT, "does not end");
	/* No strings although the locator names the 255th. */
	size = 0;
	struct module module = ddr4;
	module.locator = "ChannelA-DIMM0";
	add_module(module);
	table[0x10] = 255;
	cr_assert_eq(parsed().devices, 1);
	/* More devices than any machine has. */
	size = 0;
	module.length = 0x22;
	for (int i = 0; i < 2000; i++)
		add_module(module);
	assert_refused(RF_EFORMAT, "more than 1024");
}

Test(dmi, what_follows_the_end_is_not_read)
{
	struct module module = ddr4;
	module.locator = "DIMM 0";
	add_module(module);
	add_end();
	add_module(module);
	memset(table + size, 0xff, 7);
	size += 7;
	cr_assert_eq(parsed().devices, 1);
}

/* Too long to be kept whole: never merged with another by its beginning. */
Test(dmi, long_locators_are_not_told)
{
	char text[200];
	memset(text, 'x', sizeof(text));
	strcpy(text + 150, "Channel A");
	const char *const locators[] = {text, text};
	add_modules(locators, NULL, 2, ddr4);
	struct dmi_memory memory = parsed();
	cr_assert_eq(memory.channels, 2);
	cr_assert(memory.upper_bound);
}

Test(dmi, reads_a_file_and_says_why_it_cannot)
{
	char path[] = "/tmp/rfprof-dmi-XXXXXX";
	int fd = mkstemp(path);
	struct dmi_memory memory;
	struct module module = ddr4;
	module.locator = "DIMM 0";
	add_module(module);
	cr_assert_eq(write(fd, table, size), (ssize_t)size);
	close(fd);
	cr_assert_null(dmi_memory_read(path, &memory));
	cr_assert_eq(memory.mts, 2933);
	unlink(path);
	struct rf_error *error = dmi_memory_read(path, &memory);
	cr_assert_eq(error->code, RF_EUNAVAILABLE);
	cr_assert_not_null(strstr(error->message, path));
	rf_error_destroy(error);
	error = dmi_memory_read("/tmp", &memory);
	cr_assert_eq(error->code, RF_EUNAVAILABLE);
	rf_error_destroy(error);
}

/* This machine's own table, whatever there is. */
Test(dmi, the_default_path_gives_a_figure_or_a_reason)
{
	struct dmi_memory memory = {0};
	struct rf_error *error = dmi_memory_read(NULL, &memory);
	if (error) {
		cr_assert_eq(memory.devices, 0);
		cr_assert_eq(error->code, RF_EUNAVAILABLE);
		cr_skip_test("%s", error->message);
	}
	cr_assert(memory.gbs > 0 && memory.channels <= memory.devices);
}
