/* Asks Linux for the permission to use tiles. */
#include "machine/topology/amx.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

/* <asm/prctl.h> of older systems does not have these.  Linux, Documentation/arch/x86/xstate.rst. */
#define REQUEST_PERMISSION 0x1023 /* ARCH_REQ_XCOMP_PERM */
#define TILE_DATA 18              /* the number of the state component, Intel SDM volume 1, 13.1 */

static pthread_once_t asked = PTHREAD_ONCE_INIT;
static bool permitted;

static void ask(void)
{
	permitted = syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0;
}

bool amx_request_permission(void)
{
	pthread_once(&asked, ask);
	return permitted;
}
