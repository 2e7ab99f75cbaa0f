/* Sets Zydis up for 64-bit code, once, and decodes by it. */
#include "insn/decoder.h"

#include <assert.h>
#include <pthread.h>

static ZydisDecoder decoder;

static void set_up(void)
{
	const ZyanStatus status =
		ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	assert(ZYAN_SUCCESS(status));
	(void)status;
}

static const ZydisDecoder *the_decoder(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, set_up);
	return &decoder;
}

bool decode_full(const uint8_t *bytes, size_t size, struct full_insn *out)
{
	return ZYAN_SUCCESS(
		ZydisDecoderDecodeFull(the_decoder(), bytes, size, &out->insn, out->operands));
}

bool decode_head(const uint8_t *bytes, size_t size, ZydisDecodedInstruction *out)
{
	ZydisDecoderContext context;
	return ZYAN_SUCCESS(
		ZydisDecoderDecodeInstruction(the_decoder(), &context, bytes, size, out));
}

uint8_t general_register(ZydisRegister reg)
{
	const ZydisRegister whole =
		ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
	return whole >= ZYDIS_REGISTER_RAX && whole <= ZYDIS_REGISTER_R15
		       ? (uint8_t)(whole - ZYDIS_REGISTER_RAX)
		       : NO_GENERAL;
}
