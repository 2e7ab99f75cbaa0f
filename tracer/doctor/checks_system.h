/* Checks of the system: kernel, files of it, where it runs. */
#pragma once

#include "tracer/doctor/line.h"

check_fn check_kernel, check_proc, check_sys, check_hypervisor, check_container, check_seccomp;
