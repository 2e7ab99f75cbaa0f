/* The register of groups of operands that translated code checks, and the classes that are traced.
 */
#include "tracer/translate/trace_config.h"

#include "tracer/translate/trace_plan.h"

#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#define FSGSBASE_ENABLED 2 /* AT_HWCAP2 */

struct trace_config *trace_config_create(uint64_t classes)
{
	struct trace_config *config = calloc(1, sizeof(*config));
	if (!config || !(config->operands = operand_cache_create())) {
		free(config);
		return NULL;
	}
	config->classes = classes;
	config->has_fs_base = getauxval(AT_HWCAP2) & FSGSBASE_ENABLED;
	return config;
}

void trace_config_destroy(struct trace_config *config)
{
	if (!config)
		return;
	for (uint32_t i = config->n_lent; i < config->n_groups; i++)
		free(config->pages[i / TRACE_PAGE][i % TRACE_PAGE].operands);
	for (size_t i = 0; i < TRACE_PAGES; i++)
		free(config->pages[i]);
	operand_cache_destroy(config->operands);
	trace_scratch_destroy(config->scratch);
	free(config);
}

const char *trace_config_objection(void)
{
	return __builtin_cpu_supports("bmi2") ? NULL : "this processor has no BMI2 instructions";
}

void trace_config_masks(uint64_t classes, uint64_t masks[TRACE_MASKS])
{
	masks[0] = classes;
	for (int n = 1; n < TRACE_MASKS; n++)
		masks[n] = masks[n - 1] | classes >> n | classes << (CACHE_CLASSES - n);
}

uint32_t trace_config_add(struct trace_config *config, uint8_t form,
			  const struct trace_operand *operands, size_t n)
{
	const uint32_t number = config->n_groups, page = number / TRACE_PAGE;
	if (number > TRACE_GROUP_MAX || page >= TRACE_PAGES)
		return UINT32_MAX;
	if (!config->pages[page])
		config->pages[page] = calloc(TRACE_PAGE, sizeof(struct trace_group));
	struct trace_operand *copy = malloc(n * sizeof(*copy));
	if (!config->pages[page] || !copy) {
		free(copy);
		return UINT32_MAX;
	}
	memcpy(copy, operands, n * sizeof(*copy));
	config->pages[page][number % TRACE_PAGE] = (struct trace_group){copy, (uint16_t)n, form};
	__atomic_store_n(&config->n_groups, number + 1, __ATOMIC_RELEASE);
	return number;
}

bool trace_config_lend(struct trace_config *config, const struct trace_group *groups,
		       uint32_t n_groups, uint32_t n_numbers)
{
	for (uint32_t first = 0; first < n_groups; first += TRACE_PAGE) {
		const uint32_t left = n_groups - first, n = left < TRACE_PAGE ? left : TRACE_PAGE;
		struct trace_group *page = calloc(TRACE_PAGE, sizeof(*page));
		if (!page)
			return false;
		memcpy(page, groups + first, n * sizeof(*page));
		config->pages[first / TRACE_PAGE] = page;
	}
	config->n_lent = n_groups;
	config->n_numbers = n_numbers;
	__atomic_store_n(&config->n_groups, n_groups, __ATOMIC_RELEASE);
	return true;
}

uint32_t trace_config_string(const struct trace_config *config, uint32_t module, uint64_t offset,
			     uint8_t base)
{
	for (uint32_t i = 0; i < config->n_groups; i++) {
		const struct trace_group *group = trace_config_group(config, i);
		const struct trace_operand *operand = &group->operands[0];
		if (group->form == OPERAND_STRING && operand->offset == offset &&
		    operand->module == module && operand->base == base)
			return i;
	}
	return UINT32_MAX;
}

uint32_t trace_config_add_transfer(struct trace_config *config,
				   const struct trace_transfer *transfer, uint32_t block)
{
	const int64_t to = (int64_t)(transfer->target - transfer->start);
	const uint64_t size = transfer->next - transfer->start,
		       last = transfer->next - transfer->insn;
	if (to != (int32_t)to || size > UINT16_MAX)
		return UINT32_MAX;
	const struct trace_operand operand = {.offset = transfer->start,
					      .module = transfer->module,
					      .block = block,
					      .at = (int32_t)to,
					      .bytes = (uint16_t)size,
					      .lanes = (uint8_t)last,
					      .access = transfer->flow,
					      .base = NO_BASE};
	return trace_config_add(config, TRACE_TRANSFER, &operand, 1);
}

bool trace_config_transfer(const struct trace_config *config, uint32_t number,
			   struct trace_transfer *out)
{
	const struct trace_group *group = trace_config_group(config, number);
	if (!group || group->form != TRACE_TRANSFER)
		return false;
	const struct trace_operand *operand = &group->operands[0];
	*out = (struct trace_transfer){
		.module = operand->module,
		.start = operand->offset,
		.insn = operand->offset + operand->bytes - operand->lanes,
		.next = operand->offset + operand->bytes,
		.target = operand->offset + (uint64_t)(int64_t)operand->at,
		.flow = operand->access,
	};
	return true;
}
