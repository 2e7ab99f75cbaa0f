"""Which processes of a session there are, and in which state."""

import os


def session_processes(session):
    """Those that have not ended: process id → state, as in /proc/PID/stat."""
    found = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8") as file:
                state, _, _, of = file.read().rsplit(")", 1)[1].split()[:4]
        except OSError:
            continue
        if int(of) == session and state not in "ZX":
            found[int(name)] = state
    return found
