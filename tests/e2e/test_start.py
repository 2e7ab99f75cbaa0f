"""What each run pays before the program runs."""

import os
import re


def test_tables_of_events_are_not_loaded_unasked(t):
    """They are most of what there would be to load and relocate; tracer/pmu/pfm_library.c loads them."""
    result = t.run(["readelf", "-d", os.path.join(t.build_directory, "cli", "rfprof")])
    assert result.status == 0, str(result)
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", result.stdout.decode())
    assert needed and not [name for name in needed if "pfm" in name], needed


def test_events_are_found_all_the_same(t):
    result = t.rfprof("--counter", "no_such_event_at_all", "/bin/true")
    assert result.status == 2 and b"no_such_event_at_all" in result.stderr, str(result)
    assert b"cannot be loaded" not in result.stderr, str(result)
