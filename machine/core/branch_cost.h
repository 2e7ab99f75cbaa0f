/* What a mispredicted branch costs. */
#pragma once

/* Cycles by which a conditional branch that looks at a byte in L1 makes a loop longer each time
 * that it is mispredicted; NAN: it did not repeat.  Takes some 20 ms. */
double branch_cost_cycles(void);
