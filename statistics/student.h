/* Student's t. */
#pragma once

/* Two-sided 95 % quantile for so many degrees of freedom; right within 0.3 %.  Infinite for none.
 */
double rf_student(unsigned degrees);
