/* Replayed loops: found by module and header, the same after they were JSON; what makes no sense is
 * left out. */
#include "machine/data/loop_replay.h"
#include "tests/unit/assert_ok.h"

#include <criterion/criterion.h>

static struct loop_replay loop(const char *module, uint64_t header, enum replay_why why)
{
	struct loop_replay replay = {.module = (char *)module, .header = header, .why = why};
	for (int i = 0; i < REPLAY_VARIANTS; i++)
		replay.cycles[i] = why == REPLAY_DONE && i < 2 ? 1.5 + i : NAN;
	replay.folded = why == REPLAY_DONE;
	return replay;
}

static struct loop_replays two(void)
{
	struct loop_replays replays = {0};
	const struct loop_replay done = loop("0123abcd", 0x1234, REPLAY_DONE),
				 not = loop("/bin/x", UINT64_C(0x8000000000000001), REPLAY_CALLS);
	assert_ok(loop_replays_add(&replays, &done));
	assert_ok(loop_replays_add(&replays, &not ));
	return replays;
}

static struct loop_replays read_text(const char *text)
{
	struct loop_replays replays = {0};
	json_t *json = json_loads(text, 0, NULL);
	cr_assert_not_null(json, "%s", text);
	assert_ok(loop_replays_from_json(json, &replays));
	json_decref(json);
	return replays;
}

Test(loop_replay, is_found_by_module_and_header)
{
	struct loop_replays replays = two();
	cr_expect_eq(loop_replays_find(&replays, "0123abcd", 0x1234), &replays.items[0]);
	cr_expect_null(loop_replays_find(&replays, "/bin/x", 0x1234));
	cr_expect_null(loop_replays_find(&replays, "0123abcd", 0x1235));
	cr_expect_null(loop_replays_find(NULL, "0123abcd", 0x1234));
	loop_replays_deinit(&replays);
}

Test(loop_replay, is_the_same_after_it_was_json)
{
	struct loop_replays replays = two();
	json_t *json = loop_replays_to_json(&replays);
	char *text = json_dumps(json, JSON_COMPACT);
	struct loop_replays again = read_text(text);
	cr_assert_eq(again.n, 2);
	for (size_t i = 0; i < 2; i++) {
		const struct loop_replay *a = &replays.items[i], *b = &again.items[i];
		cr_expect_str_eq(a->module, b->module);
		cr_expect_eq(a->header, b->header);
		cr_expect_eq(a->why, b->why);
		cr_expect_eq(a->folded, b->folded);
		for (int k = 0; k < REPLAY_VARIANTS; k++)
			cr_expect(a->cycles[k] == b->cycles[k] ||
				  (isnan(a->cycles[k]) && isnan(b->cycles[k])));
	}
	free(text);
	json_decref(json);
	loop_replays_deinit(&again);
	loop_replays_deinit(&replays);
}

Test(loop_replay, of_strangers_may_be_anything)
{
	static const char *const texts[] = {
		"{}",
		"[1, null, \"x\", [], {}]",
		"[{\"module\": \"x\", \"header\": 1, \"why\": \"done\"}]",
		"[{\"module\": \"x\", \"header\": 1, \"why\": \"done\", \"cycles\": -1}]",
		"[{\"module\": \"x\", \"header\": 1, \"why\": \"done\", \"cycles\": 1e300}]",
		"[{\"module\": \"x\", \"header\": 1, \"why\": \"calls\", \"cycles\": 1}]",
		"[{\"module\": \"x\", \"header\": 1, \"why\": \"because\"}]",
		"[{\"module\": 5, \"header\": 1, \"why\": \"done\", \"cycles\": 1}]",
		"[{\"header\": 1, \"why\": \"done\", \"cycles\": 1}]",
	};
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct loop_replays replays = read_text(texts[i]);
		cr_expect_eq(replays.n, 0, "%s", texts[i]);
		loop_replays_deinit(&replays);
	}
	struct loop_replays good = read_text("[{\"module\": \"x\", \"header\": 1, \"why\": "
					     "\"done\", \"cycles\": 2, \"memory\": 0}]");
	cr_assert_eq(good.n, 1);
	cr_expect_eq(good.items[0].cycles[REPLAY_WHOLE], 2);
	cr_expect(isnan(good.items[0].cycles[REPLAY_MEMORY]));
	loop_replays_deinit(&good);
}

Test(loop_replay, each_reason_has_words)
{
	for (int i = 0; i < REPLAY_WHYS; i++)
		cr_expect_not_null(replay_why_words((enum replay_why)i), "%d", i);
	for (int i = 0; i < REPLAY_VARIANTS; i++)
		cr_expect_not_null(replay_variant_name((enum replay_variant)i), "%d", i);
}
