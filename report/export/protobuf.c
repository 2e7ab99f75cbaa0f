/* The wire format of Protocol Buffers (encoding specification, proto3), as far as profiles need it.
 */
#include "report/export/protobuf.h"

#include <stdlib.h>
#include <string.h>

#define TYPE_VARINT 0
#define TYPE_LENGTH 2
#define MAX_VARINT 10 /* bytes of 64 bits in groups of 7 */

void protobuf_deinit(struct protobuf *message)
{
	free(message->bytes);
	*message = (struct protobuf){0};
}

void protobuf_clear(struct protobuf *message)
{
	message->n = 0;
}

static bool make_room(struct protobuf *message, size_t n)
{
	if (message->failed || n > SIZE_MAX / 4 - message->n)
		return !(message->failed = true);
	if (message->n + n <= message->cap)
		return true;
	const size_t cap = 2 * (message->n + n) + 64;
	uint8_t *grown = realloc(message->bytes, cap);
	if (!grown)
		return !(message->failed = true);
	message->bytes = grown;
	message->cap = cap;
	return true;
}

static void put_varint(struct protobuf *message, uint64_t value)
{
	if (!make_room(message, MAX_VARINT))
		return;
	for (; value >= 0x80; value >>= 7)
		message->bytes[message->n++] = (uint8_t)(value | 0x80);
	message->bytes[message->n++] = (uint8_t)value;
}

static void put_key(struct protobuf *message, unsigned field, unsigned type)
{
	put_varint(message, (uint64_t)field << 3 | type);
}

void protobuf_number(struct protobuf *message, unsigned field, uint64_t value)
{
	if (!value)
		return;
	put_key(message, field, TYPE_VARINT);
	put_varint(message, value);
}

static size_t varint_size(uint64_t value)
{
	size_t n = 1;
	for (; value >= 0x80; value >>= 7)
		n++;
	return n;
}

void protobuf_numbers(struct protobuf *message, unsigned field, const uint64_t *values, size_t n)
{
	size_t size = 0;
	for (size_t i = 0; i < n; i++)
		size += varint_size(values[i]);
	put_key(message, field, TYPE_LENGTH);
	put_varint(message, size);
	for (size_t i = 0; i < n; i++)
		put_varint(message, values[i]);
}

static void put_bytes(struct protobuf *message, unsigned field, const void *bytes, size_t n)
{
	put_key(message, field, TYPE_LENGTH);
	put_varint(message, n);
	if (!n || !make_room(message, n))
		return;
	memcpy(message->bytes + message->n, bytes, n);
	message->n += n;
}

void protobuf_string(struct protobuf *message, unsigned field, const char *text)
{
	put_bytes(message, field, text, strlen(text));
}

void protobuf_message(struct protobuf *message, unsigned field, const struct protobuf *part)
{
	message->failed |= part->failed;
	put_bytes(message, field, part->bytes, part->n);
}
