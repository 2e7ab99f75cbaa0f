/* Memory only where it expects some, and elsewhere than thread_sanitizer.
 * @compiler clang
 * @flags -fsanitize=memory -fPIE -pie */
#include "sanitized.h"
