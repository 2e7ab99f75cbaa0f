/* Chooses the classes of cache sets that are simulated (traffic.h). */
#pragma once

#include <stdint.h>

/* n of all CACHE_CLASSES classes, each as likely as any other; bit k: class k.  Where n is a power
 * of two they are spread: one for each remainder modulo n, so that strides of up to n lines find as
 * many of them as any, and each in another part of the page. */
uint64_t class_sample(unsigned n);

/* Half of what class_sample(n) has chosen, n a power of two from 2 on, spread in the same way. */
uint64_t class_sample_half(uint64_t classes, unsigned n);
