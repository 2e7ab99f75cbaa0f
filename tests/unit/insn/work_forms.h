/* Every form of every instruction: walks the encoding spaces (legacy, 3DNow!, VEX, XOP, EVEX) of
 * 64-bit mode opcode by opcode and hands each encoding that Zydis decodes to a callback.  Memory
 * forms use [rax], or [rax + vector * 1] where the instruction wants a vector index. */
#pragma once

#include <Zydis/Zydis.h>
#include <stdbool.h>
#include <stdint.h>

struct form {
	uint8_t bytes[16];
	uint8_t size;
	ZydisDecodedInstruction insn;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
};

struct forms {
	ZydisDecoder decoder;
	void (*visit)(const struct form *form, void *data);
	void *data;
};

/* Appends modrm, SIB and immediate bytes to a prefix-and-opcode `head` and visits what decodes. */
static inline void forms_try(const struct forms *forms, const uint8_t *head, size_t n,
			     uint8_t modrm)
{
	struct form form = {0};
	for (size_t i = 0; i < n; i++)
		form.bytes[i] = head[i];
	form.bytes[n] = modrm;
	if ((modrm & 0xC7) == 0x04)
		form.bytes[n + 1] = 0x10; /* SIB: base rax, index 2, scale 1 */
	else
		form.bytes[n + 1] =
			0x21; /* an immediate that shifts by 1 and selects one product */
	form.bytes[n + 2] = 0x21;
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&forms->decoder, form.bytes, sizeof form.bytes,
						 &form.insn, form.operands)))
		return;
	form.size = form.insn.length;
	forms->visit(&form, forms->data);
}

/* Memory forms with each value of the reg field, and register forms; an opcode without ModRM
 * byte is visited several times, which does no harm. */
static inline void forms_try_modrm(const struct forms *forms, const uint8_t *head, size_t n,
				   bool vsib)
{
	for (int reg = 0; reg < 8; reg++) {
		forms_try(forms, head, n, reg << 3);
		forms_try(forms, head, n, 0xC0 | reg << 3 | 3);
		if (vsib)
			forms_try(forms, head, n, reg << 3 | 4);
	}
}

static inline void forms_legacy(const struct forms *forms)
{
	static const uint8_t prefixes[] = {0, 0x66, 0xF2, 0xF3};
	static const uint8_t escapes[4][2] = {{0}, {0x0F}, {0x0F, 0x38}, {0x0F, 0x3A}};
	for (int p = 0; p < 4; p++) {
		for (int rex = 0; rex < 2; rex++) {
			for (int map = 0; map < 4; map++) {
				for (int opcode = 0; opcode < 256; opcode++) {
					uint8_t head[6];
					size_t n = 0;
					if (prefixes[p])
						head[n++] = prefixes[p];
					if (rex)
						head[n++] = 0x48;
					for (int i = 0; i < 2 && escapes[map][i]; i++)
						head[n++] = escapes[map][i];
					head[n++] = opcode;
					/* x87 and group opcodes select by the whole ModRM. */
					for (int rm = 0xC0; map < 2 && rm < 0x100; rm++)
						forms_try(forms, head, n, rm);
					forms_try_modrm(forms, head, n, false);
				}
			}
		}
	}
}

/* 3DNow!: the opcode comes last, where an immediate would be. */
static inline void forms_3dnow(const struct forms *forms)
{
	for (int opcode = 0; opcode < 256; opcode++) {
		for (int mod = 0; mod <= 0xC0; mod += 0xC0) {
			struct form form = {.bytes = {0x0F, 0x0F, mod | 0x0B, opcode}};
			if (!mod)
				form.bytes[2] = 0x08;
			if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&forms->decoder, form.bytes, 4,
								 &form.insn, form.operands)))
				continue;
			form.size = 4;
			forms->visit(&form, forms->data);
		}
	}
}

/* VEX and XOP share their payload; `vvvv` unused must be all ones, used is given as 4. */
static inline void forms_vex(const struct forms *forms, uint8_t escape, int first_map, int last_map)
{
	for (int map = first_map; map <= last_map; map++) {
		for (int w_l_pp = 0; w_l_pp < 16; w_l_pp++) {
			for (int opcode = 0; opcode < 256; opcode++) {
				uint8_t w = (w_l_pp & 8) << 4, l_pp = w_l_pp & 7;
				uint8_t head[] = {escape, 0xE0 | map, w | 0x78 | l_pp, opcode};
				forms_try_modrm(forms, head, 4, true);
				head[2] = w | (~4 & 15) << 3 | l_pp;
				forms_try_modrm(forms, head, 4, true);
			}
		}
	}
}

/* EVEX with every W, vector length, broadcast bit, without mask, with {k1} and with {k1}{z}. */
static inline void forms_evex(const struct forms *forms)
{
	static const uint8_t maps[] = {1, 2, 3, 5, 6};
	static const uint8_t masks[] = {0, 1, 0x81};
	for (int m = 0; m < 5; m++) {
		for (int bits = 0; bits < 8 * 8 * 3 * 2; bits++) {
			int w_pp = bits & 7, ll_b = bits >> 3 & 7, mask = bits / 64 % 3;
			int v = bits / 192;
			for (int opcode = 0; opcode < 256; opcode++) {
				uint8_t head[] = {
					0x62, 0xF0 | maps[m],
					(w_pp & 4) << 5 | (v ? ~4 & 15 : 15) << 3 | 4 | (w_pp & 3),
					masks[mask] | (ll_b & 3) << 5 | (ll_b & 4) << 2 | 8,
					opcode};
				forms_try_modrm(forms, head, 5, true);
			}
		}
	}
}

static inline void forms_visit(void (*visit)(const struct form *, void *), void *data)
{
	struct forms forms = {.visit = visit, .data = data};
	ZydisDecoderInit(&forms.decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	forms_legacy(&forms);
	forms_3dnow(&forms);
	forms_vex(&forms, 0xC4, 1, 3);
	forms_vex(&forms, 0x8F, 8, 10);
	forms_evex(&forms);
}
