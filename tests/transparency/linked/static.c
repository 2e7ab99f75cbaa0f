/* Linked statically: no dynamic linker, ifuncs by the start-up code.
 * @flags -static */
#include "common.h"
