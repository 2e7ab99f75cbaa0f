/* The traits of instructions, as a table by mnemonic. */
#include "insn/traits.h"

#include <Zydis/Zydis.h>

#define T(mnemonic, trait) [ZYDIS_MNEMONIC_##mnemonic] = TRAIT_##trait,

static const uint16_t traits[ZYDIS_MNEMONIC_MAX_VALUE + 1] = {
#include "insn/traits.def"
};

unsigned traits_of(unsigned mnemonic)
{
	return mnemonic <= ZYDIS_MNEMONIC_MAX_VALUE ? traits[mnemonic] : 0;
}
