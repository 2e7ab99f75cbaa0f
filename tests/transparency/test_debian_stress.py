"""The stressors of stress-ng: each does one thing to the processor or the kernel, and checks itself."""

import os

import pytest

from debian import PATH, PROGRAMS, find, same_counted
from harness import text

SUITE = "transparency/debian"

TIMEOUT = 60  # s, after which a stressor stops by itself; not reached when all is well

# What a stressor says about failing or being left out, and whether it did all its operations.
SUMMARY = r"""$4 == name && $5 ~ /^[0-9]+$/ && !seen++ { print ($5 >= ops ? "done" : "stopped early") }
$2 != "metrc:" && /fail|skipp/ { gsub(/\[[0-9]+\]/, ""); print }"""


def stressors():
    """(name, operations, whether it refuses to run as root), from the list."""
    for line in text(os.path.join(PROGRAMS, "stressors.txt")).splitlines():
        if not line.startswith("#"):
            name, operations, *words = line.split()
            marks = [] if "quick" in words else [pytest.mark.slow]
            yield pytest.param(name, operations, "user" in words, id=f"stress_{name}", marks=marks)


@pytest.mark.parametrize("name, operations, as_user", stressors())
def test_stressor(t, name, operations, as_user):
    find("stress-ng")
    user = "setpriv --reuid 65534 --regid 65534 --clear-groups" if as_user and os.getuid() == 0 else ""
    source = (f"chmod 777 .; {user} stress-ng --verify --metrics-brief -t {TIMEOUT} --temp-path . --{name} 1"
              f" --{name}-ops {operations} 2>&1 | awk -v name={name} -v ops={operations} '{SUMMARY}';"
              " echo ${PIPESTATUS[0]}")
    native, _ = same_counted(t, f"stress-ng {name}", ["/bin/bash", "-c", source], [find("stress-ng")],
                             env={"PATH": PATH})
    *said, status = native.stdout.decode(errors="replace").splitlines()
    assert said, f"stress-ng ended with {status} and said nothing\n{native}"
    if (said, status) != (["done"], "0"):
        pytest.skip(f"stress-ng cannot do it natively: {' '.join(said)} (exit status {status})")
