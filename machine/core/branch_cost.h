/* What a mispredicted branch costs. */
#pragma once

/* Cycles by which a conditional branch that looks at a byte in L1 makes a loop longer each time
 * that it is mispredicted: cost[0] where that is every second time, cost[1] where it is one time in
 * 64; NAN: it did not repeat.  The latter costs more where predictors are led astray by what they
 * could not foresee, and are wrong once more behind it.  Takes some 20 ms. */
void branch_cost_cycles(double cost[2]);
