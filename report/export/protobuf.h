/* The wire format of Protocol Buffers (encoding specification, proto3), as far as profiles need it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A message that grows; all zero: empty. */
struct protobuf {
	uint8_t *bytes;
	size_t n, cap;
	/* Memory was short, and what follows is lost: one flag, asked once at the end, for every
	 * number of a profile is a call. */
	bool failed;
};

void protobuf_deinit(struct protobuf *message);
void protobuf_clear(struct protobuf *message);
/* Fields of type int64 and uint64; 0 is the default and is left out. */
void protobuf_number(struct protobuf *message, unsigned field, uint64_t value);
/* Packed repeated numbers, 0 among them. */
void protobuf_numbers(struct protobuf *message, unsigned field, const uint64_t *values, size_t n);
/* A string, also an empty one. */
void protobuf_string(struct protobuf *message, unsigned field, const char *text);
/* A message within; its failure is passed on. */
void protobuf_message(struct protobuf *message, unsigned field, const struct protobuf *part);
