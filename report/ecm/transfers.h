/* What a piece of code moves over each link, and how long that takes at least. */
#pragma once

#include "report/ecm/ecm_machine.h"
#include "report/model/model.h"

/* What crossed each border, of events in bytes, less the lines that irregular instructions got: for
 * these the code waits, which is reckoned apart; neither they nor the clean victims that they push
 * out are counted twice.  `irregular`: MODEL_LEVELS of them, or NULL. */
struct ecm_moves ecm_moves_of(const double events[N_TRAFFIC],
			      const struct model_irregular *irregular);

/* Seconds of processor time that the links need, `seconds[ECM_PARTS]`, of code that `threads`
 * threads run at once; 0 of what is no link.  The link to a shared L3 is as much slower as its
 * share for each thread was measured to be.  `narrow`: how near accesses are to those of 8 bytes,
 * ecm_narrowness(); 0: as wide as they can be. */
void ecm_transfer_seconds(const struct ecm_machine *machine, const struct profile *profile,
			  const struct ecm_moves *moves, double threads, double narrow,
			  double *seconds);
/* 0 of so many accesses to so many bytes that each has a whole line, 1 where eight or more go to a
 * line, and linear in their number between. */
double ecm_narrowness(double accesses, double bytes);

/* Of the time of the memory links (one thread's), the share that is time of the memory itself,
 * which `ecm_with_threads()` shares out: what one thread reaches of what all measured threads do.
 */
double ecm_memory_share(const struct profile *profile);
