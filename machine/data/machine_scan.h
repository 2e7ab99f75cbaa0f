/* The machine from JSON that machine_to_json() has made, read straight from the text. */
#pragma once

#include "machine/data/json_scan.h"
#include "machine/data/machine.h"

/* Reads the object at which `scan` stands.  False: it is not just as machine_to_json() makes it,
 * or memory is short; machine_from_json() has to look, and *machine is untouched. */
bool machine_scan(struct json_scan *scan, struct machine *machine);
