"""The targets' truths against single steps: neither the translator nor its counters take part."""

import os

import pytest

from test_targets import truths_of

SUITE = "targets"

# About 20 µs a step: the others would take minutes.
QUICK = ["bf16", "half", "masked_avx2", "masked_avx512"]
SLOW = ["control", "copy", "crunch_avx512", "crunch_fma", "crunch_sse", "daxpy", "dgemv", "divsqrt", "dot", "fp16",
        "integer", "string_ops", "triad", "x87"]


@pytest.mark.parametrize("name", [
    *[pytest.param(name, id=f"{name}_stepped") for name in QUICK],
    *[pytest.param(name, id=f"{name}_stepped", marks=pytest.mark.slow) for name in SLOW]])
def test_stepped(t, name):
    program = t.target(name)
    native = t.run([program])
    if native.status == 77:
        pytest.skip(native.stderr.decode().strip())
    truths = truths_of(native.stdout)
    stepper = os.path.join(t.build_directory, "tests", "reference", "step_count")
    counted = t.run([stepper, program, *[truth["kernel"] for truth in truths]], timeout=600)
    assert counted.status == 0, str(counted)
    found = truths_of(counted.stdout, "counted ")
    wrong = [f"{one}, true {other}" for one, other in zip(found, truths) if one != other]
    assert len(found) == len(truths) and not wrong, "\n".join(wrong)
