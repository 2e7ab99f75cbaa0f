/* SMBIOS structures by DSP0134, System Management BIOS Reference Specification (3.3 and
 * later): 6.1.2 structure header, 6.1.3 text strings, 7.18 memory device (type 17).  Our own
 * parser, since there is no library for them: dmidecode is a program, and its text is not a stable
 * interface.
 *
 * Which devices share a channel is not in the tables (type 17 names an array of devices, not a
 * channel), only in the free text of the locators.  Conventions that are understood:
 *   a channel by name, in the device's or else the bank's locator: "P0_Node0_Channel2_Dimm1",
 *   "ChannelA-DIMM0", "Controller1-ChannelB", "DIMM 1" in "P0 CHANNEL C": all up to the channel;
 *   a letter and a number behind "DIMM": "DIMM_A1", "CPU0_DIMM_A1", "P1-DIMMB2", "DIMM_P0_A0": all
 * up to the letter.  Not where a number above 3 shows (also of an empty socket) that the letter is
 * a processor and the number a socket, since no channel has more than three sockets. Everything
 * else ("DIMM 3", "A1", "PROC 1 DIMM 12") does not tell. */
#include "machine/topology/dmi.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DMI_PATH "/sys/firmware/dmi/tables/DMI"

enum {
	FILE_LIMIT = 1 << 20, /* a table's length is 16 bits up to SMBIOS 2, some 10 KB in fact */
	MAX_DEVICES = 1024,
	MAX_TEXT = 96,
	MAX_CHANNEL_SOCKETS = 3,
	HEADER_BYTES = 4,
	TYPE_MEMORY_DEVICE = 17,
	TYPE_END = 127,
};

/* Offsets in type 17 [DSP0134 7.18, table 76]. */
enum {
	AT_DATA_WIDTH = 0x0a,
	AT_SIZE = 0x0c,
	AT_DEVICE_LOCATOR = 0x10,
	AT_BANK_LOCATOR = 0x11,
	AT_MEMORY_TYPE = 0x12,
	AT_SPEED = 0x15,
	AT_CONFIGURED_SPEED = 0x20,
	AT_TECHNOLOGY = 0x28,
	AT_EXTENDED_SPEED = 0x54,
	AT_EXTENDED_CONFIGURED_SPEED = 0x58,
};

struct structure {
	const uint8_t *bytes; /* formatted area with header */
	size_t length;
	const char *strings;     /* each ends with NUL, the last with two */
	const char *strings_end; /* behind the last string's NUL */
};

struct device {
	char locator[MAX_TEXT], bank[MAX_TEXT];
	char channel[2 * MAX_TEXT]; /* "": not told */
	unsigned width, mts;        /* 0: not told */
	bool populated, highest_speed;
};

/* ---- Structures --------------------------------------------------------------------------- */

/* Cuts the structure at *offset out and moves on; false: it does not fit into the table. */
static bool next_structure(const uint8_t *bytes, size_t size, size_t *offset, struct structure *out)
{
	const uint8_t *at = bytes + *offset;
	size_t left = size - *offset;
	if (left < HEADER_BYTES || at[1] < HEADER_BYTES || at[1] > left)
		return false;
	out->bytes = at;
	out->length = at[1];
	out->strings = (const char *)at + out->length;
	/* The set of strings ends with an empty one; one that holds none is two NUL. */
	for (size_t i = out->length; i + 1 < left; i++)
		if (at[i] == 0 && at[i + 1] == 0) {
			out->strings_end = (const char *)at + i + 1;
			*offset += i + 2;
			return true;
		}
	return false;
}

/* A field of `n_bytes` (1, 2, 4), little-endian; 0 where an older version's structure ends before.
 */
static uint32_t field(const struct structure *structure, size_t at, size_t n_bytes)
{
	uint32_t value = 0;
	if (at + n_bytes > structure->length)
		return 0;
	for (size_t i = 0; i < n_bytes; i++)
		value |= (uint32_t)structure->bytes[at + i] << 8 * i;
	return value;
}

/* Copies the string that the field at `at` names (from 1), without blanks around it; "" when there
 * is none or it is too long to be told from another. */
static void copy_string(const struct structure *structure, size_t at, char text[MAX_TEXT])
{
	const char *string = structure->strings;
	text[0] = '\0';
	for (unsigned n = field(structure, at, 1); n > 0 && string < structure->strings_end; n--) {
		if (n > 1) {
			string += strlen(string) + 1;
			continue;
		}
		string += strspn(string, " ");
		size_t length = strlen(string);
		while (length && string[length - 1] == ' ')
			length--;
		if (length < MAX_TEXT)
			snprintf(text, MAX_TEXT, "%.*s", (int)length, string);
	}
}

/* ---- Devices ------------------------------------------------------------------------------ */

/* Whether a device is main memory on a channel of its own timing: not ROM, flash, video memory or
 * static RAM, not persistent modules that share the channels of DRAM. */
static bool is_main_memory(const struct structure *structure)
{
	unsigned type = field(structure, AT_MEMORY_TYPE, 1);
	unsigned technology = field(structure, AT_TECHNOLOGY, 1);
	bool persistent = technology >= 5 && technology <= 7; /* NVDIMM-F, NVDIMM-P, Optane */
	return type != 5 && type != 6 && !(type >= 8 && type <= 12) && type != 0x1f && !persistent;
}

/* 1e6 transfers per second, or 0.  16 bits that are all ones refer to the extended field. */
static unsigned speed(const struct structure *structure, size_t at, size_t extended_at)
{
	unsigned value = field(structure, at, 2);
	return value == 0xffff ? field(structure, extended_at, 4) & 0x7fffffff : value;
}

static void read_device(const struct structure *structure, struct device *device)
{
	*device = (struct device){0};
	device->populated = field(structure, AT_SIZE, 2) != 0;
	device->width = field(structure, AT_DATA_WIDTH, 2);
	if (device->width == 0xffff)
		device->width = 0;
	device->mts = speed(structure, AT_CONFIGURED_SPEED, AT_EXTENDED_CONFIGURED_SPEED);
	if (!device->mts) {
		device->mts = speed(structure, AT_SPEED, AT_EXTENDED_SPEED);
		device->highest_speed = true;
	}
	copy_string(structure, AT_DEVICE_LOCATOR, device->locator);
	copy_string(structure, AT_BANK_LOCATOR, device->bank);
}

static struct rf_error *read_devices(const uint8_t *bytes, size_t size, struct device *devices,
				     size_t *n_devices)
{
	struct structure structure;
	*n_devices = 0;
	for (size_t offset = 0; offset < size;) {
		size_t start = offset;
		if (!next_structure(bytes, size, &offset, &structure))
			return rf_error_create(
				RF_EFORMAT, NULL,
				"SMBIOS table: the structure at byte %zu does not end", start);
		if (structure.bytes[0] == TYPE_END)
			break;
		if (structure.bytes[0] != TYPE_MEMORY_DEVICE || !is_main_memory(&structure))
			continue;
		if (*n_devices == MAX_DEVICES)
			return rf_error_create(RF_EFORMAT, NULL,
					       "SMBIOS table: more than %d memory devices",
					       MAX_DEVICES);
		read_device(&structure, &devices[(*n_devices)++]);
	}
	return NULL;
}

/* ---- Channels ----------------------------------------------------------------------------- */

/* Length of the text up to and with a channel's name: "Channel", separators, a number or a letter;
 * 0: there is none. */
static size_t channel_prefix(const char *text)
{
	const char *at = strcasestr(text, "channel");
	if (!at)
		return 0;
	at += strlen("channel");
	at += strspn(at, " _-:");
	size_t digits = strspn(at, "0123456789");
	if (!digits && !isalpha((unsigned char)*at))
		return 0;
	return at + (digits ? digits : 1) - text;
}

/* Length of the text up to and with the letter of a last word "LETTER NUMBER" behind "DIMM", and
 * the number; 0: no such word. */
static size_t letter_prefix(const char *text, unsigned long *number)
{
	const char *dimm = strcasestr(text, "dimm"), *digits = text + strlen(text);
	while (digits > text && isdigit((unsigned char)digits[-1]))
		digits--;
	if (!dimm || !*digits || digits - dimm < 5 || !isalpha((unsigned char)digits[-1]))
		return 0;
	const char *letter = digits - 1;
	if (letter != dimm + 4 && isalnum((unsigned char)letter[-1]))
		return 0;
	*number = strtoul(digits, NULL, 10);
	return digits - text;
}

/* True when a letter behind "DIMM" is a channel's wherever there is one. */
static bool letters_are_channels(const struct device *devices, size_t n_devices)
{
	unsigned long number;
	for (size_t i = 0; i < n_devices; i++)
		if (letter_prefix(devices[i].locator, &number) && number > MAX_CHANNEL_SOCKETS)
			return false;
	return true;
}

static void name_channel(struct device *device, bool letters)
{
	unsigned long number;
	size_t size = sizeof(device->channel), length = channel_prefix(device->locator);
	if (!length && letters && !channel_prefix(device->bank))
		length = letter_prefix(device->locator, &number);
	if (length) {
		snprintf(device->channel, size, "%.*s", (int)length, device->locator);
		return;
	}
	length = channel_prefix(device->bank);
	if (!length)
		return;
	/* The processor may only be in the device's locator: "CPU1_DIMM_A1" in "CHANNEL A". */
	const char *dimm = strcasestr(device->locator, "dimm");
	int before = dimm ? (int)(dimm - device->locator) : 0;
	snprintf(device->channel, size, "%.*s%.*s", before, device->locator, (int)length,
		 device->bank);
}

/* Two devices in one place: firmware that gives all the same text. */
static bool same_place(const struct device *a, const struct device *b)
{
	return !strcmp(a->locator, b->locator) && !strcmp(a->bank, b->bank);
}

/* The first device that is on the channel of devices[i]; i itself when none is before it. */
static size_t first_on_channel(const struct device *devices, size_t i)
{
	for (size_t j = 0; j < i && devices[i].channel[0]; j++)
		if (!strcmp(devices[j].channel, devices[i].channel))
			return j;
	return i;
}

static void forget_channels_of_same_places(struct device *devices, size_t n_devices)
{
	for (size_t i = 0; i < n_devices; i++)
		for (size_t j = 0; j < i; j++)
			if (same_place(&devices[i], &devices[j]))
				devices[i].channel[0] = devices[j].channel[0] = '\0';
}

/* ---- Peak --------------------------------------------------------------------------------- */

static size_t keep_populated(struct device *devices, size_t n_devices)
{
	size_t n = 0;
	for (size_t i = 0; i < n_devices; i++)
		if (devices[i].populated)
			devices[n++] = devices[i];
	return n;
}

static struct rf_error *check_devices(const struct device *devices, size_t n_devices)
{
	if (n_devices == 0)
		return rf_error_create(RF_EUNAVAILABLE, NULL,
				       "the SMBIOS table has no memory device that is in use");
	for (size_t i = 0; i < n_devices; i++)
		if (!devices[i].mts || !devices[i].width)
			return rf_error_create(
				RF_EUNAVAILABLE, "usual in a virtual machine",
				"the SMBIOS table does not tell the %s of memory device \"%s\"",
				devices[i].mts ? "data width" : "speed", devices[i].locator);
	return NULL;
}

/* A channel is as wide as its widest device and as slow as its slowest. */
static void add_to_channel(struct device *channel, const struct device *device)
{
	if (device->width > channel->width)
		channel->width = device->width;
	if (device->mts < channel->mts)
		channel->mts = device->mts;
}

static struct dmi_memory peak(struct device *devices, size_t n_devices)
{
	struct dmi_memory memory = {.devices = n_devices, .mts = devices[0].mts};
	bool is_first[MAX_DEVICES];
	for (size_t i = 0; i < n_devices; i++) {
		size_t first = first_on_channel(devices, i);
		is_first[i] = first == i;
		if (devices[i].mts < memory.mts)
			memory.mts = devices[i].mts;
		if (devices[i].highest_speed || (n_devices > 1 && !devices[i].channel[0]))
			memory.upper_bound = true;
		add_to_channel(&devices[first], &devices[i]);
	}
	for (size_t i = 0; i < n_devices; i++) {
		if (!is_first[i])
			continue;
		memory.channels++;
		memory.gbs += devices[i].mts * 1e6 * devices[i].width / 8 / 1e9;
	}
	return memory;
}

struct rf_error *dmi_memory_parse(const uint8_t *bytes, size_t size, struct dmi_memory *memory)
{
	size_t n;
	struct device *devices = calloc(MAX_DEVICES, sizeof(*devices));
	if (!devices)
		return rf_error_no_memory();
	struct rf_error *error = read_devices(bytes, size, devices, &n);
	bool letters = letters_are_channels(devices, n);
	n = keep_populated(devices, n);
	if (!error)
		error = check_devices(devices, n);
	for (size_t i = 0; i < n; i++)
		name_channel(&devices[i], letters);
	forget_channels_of_same_places(devices, n);
	if (!error)
		*memory = peak(devices, n);
	free(devices);
	return error;
}

struct rf_error *dmi_memory_read(const char *path, struct dmi_memory *memory)
{
	path = path ? path : DMI_PATH;
	FILE *file = fopen(path, "re");
	if (!file)
		return rf_error_errno(RF_EUNAVAILABLE, errno,
				      errno == EACCES ? "root may read it" : NULL,
				      "cannot read the memory's data from %s", path);
	uint8_t *bytes = malloc(FILE_LIMIT);
	size_t size = bytes ? fread(bytes, 1, FILE_LIMIT, file) : 0;
	int errnum = ferror(file) ? errno : 0;
	fclose(file);
	struct rf_error *error;
	if (!bytes)
		error = rf_error_no_memory();
	else if (errnum)
		error = rf_error_errno(RF_EUNAVAILABLE, errnum, NULL, "cannot read %s", path);
	else
		error = dmi_memory_parse(bytes, size, memory);
	free(bytes);
	return error;
}
