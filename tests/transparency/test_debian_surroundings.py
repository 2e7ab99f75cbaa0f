"""Debian's programs as people run them: timed first, at a limit, within another rfprof."""

from debian import find, words

SUITE = "transparency/debian"


def test_timed_and_counted(t):
    """The default: what is seen is the native run's output, and its samples and timers disturb nothing."""
    perl = "$SIG{ALRM} = sub { print qq(alarm\\n) }; alarm 1; select undef, undef, undef, 3; warn qq(err\\n); exit 9"
    for command, status in (([find("gzip"), "-9", "-n", "-c"], 0), ([find("sort"), "--parallel=2", "-k5"], 0),
                            ([find("perl"), "-e", perl], 9), (["/bin/bash", "-c", "seq 9999 | md5sum; kill $$"], -15)):
        native = t.same(command, modes=("",), stdin=words())
        assert native.status == status, str(native)


def test_few_descriptors(t):
    """A limit on open files is the program's own: rfprof's descriptors do not use it up."""
    code = ("import os, sys\nfds = []\ntry:\n    while True: fds.append(os.open('/dev/null', os.O_RDONLY))\n"
            "except OSError: print(len(fds))\nos.closerange(3, 64)\nprint(sum(x * 0.5 for x in range(50000)))")
    native = t.same(["/bin/sh", "-c", f"ulimit -n 40; exec {find('python3')} -c \"$0\"", code])
    assert native.status == 0, str(native)


def test_watched_twice(t):
    """rfprof can be run by rfprof; the inner one's program still does what it does natively."""
    inner = [t.rfprof_path, "-q", "--no-save", "/bin/sh", "-c", "echo out; echo err >&2; exit 6"]
    result = t.rfprof("-q", "--no-save", *inner)
    assert (result.status, result.stdout, result.stderr) == (6, b"out\n", b"err\n"), str(result)
