"""Spends its time in functions of which it knows the shares, and prints these as JSON: processor time of each, by its
own name, without the Python functions that it calls.  The first argument says how."""

import json
import os
import random
import sys
import threading
import time


class Clock:
    """Adds up the processor time of one thread between the calls of `lap`."""

    def __init__(self):
        self.spent, self.last = {}, time.thread_time()

    def lap(self, name):
        now = time.thread_time()
        self.spent[name] = self.spent.get(name, 0) + now - self.last
        self.last = now


def counts(n):
    total = 0
    for i in range(n):
        total += i * i % 7  # hot: counts
    return total


class Sorter:
    def sorts(self, items):
        return sorted(items)  # hot: Sorter.sorts


def outer(n):
    def inner(left):
        if left:
            return inner(left - 1)
        return counts(n)

    return inner(20)


def squares(n):
    for i in range(n):
        j = i
        while j % 40:
            j += 1
        yield j


def drains(n):
    return sum(squares(n))


def shares(seconds):
    items = [random.random() for _ in range(60000)]
    clock, sorter = Clock(), Sorter()
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        clock.lap("shares")
        outer(150000)
        clock.lap("counts")
        sorter.sorts(items)
        clock.lap("Sorter.sorts")
        drains(9000)
        clock.lap("squares")
    return clock.spent


def thread_shares(seconds):
    spent = {}

    def first(end):
        while time.thread_time() < end:
            counts(30000)
        spent["counts"] = time.thread_time()

    def second(end):
        items = [random.random() for _ in range(30000)]
        while time.thread_time() < end:
            Sorter().sorts(items)
        spent["Sorter.sorts"] = time.thread_time()

    threads = [threading.Thread(target=first, args=(seconds / 3,)),
               threading.Thread(target=second, args=(2 * seconds / 3,))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return spent


def fork_shares(seconds):
    child = os.fork()
    start = time.process_time()
    while time.process_time() < start + seconds / 2:
        if child:
            counts(600000)
        else:
            drains(30000)
    if not child:
        os._exit(0)
    os.waitpid(child, 0)
    return {"counts": seconds / 2, "squares": seconds / 2}


def same():
    """What a program does that looks must not change."""
    print(counts(1000000), drains(1000), sorted(range(5), reverse=True), flush=True)
    print("to standard error", file=sys.stderr, flush=True)
    with open("written", "w", encoding="utf-8") as file:
        file.write("%d\n" % outer(100000))
    raise SystemExit(3)


if __name__ == "__main__":
    how = {"shares": shares, "threads": thread_shares, "fork": fork_shares}
    if sys.argv[1] == "same":
        same()
    print(json.dumps(how[sys.argv[1]](float(sys.argv[2]))))
