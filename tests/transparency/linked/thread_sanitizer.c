/* Memory only where it expects some.
 * @flags -fsanitize=thread */
#include "sanitized.h"
