/* Indirect branches by returns.
 * @flags -mindirect-branch=thunk -mfunction-return=thunk -fcf-protection=none */
#include "common.h"
