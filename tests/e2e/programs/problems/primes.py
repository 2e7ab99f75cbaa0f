"""Counts primes in two threads.  Its problem: only the thread that has the interpreter computes, the other one waits."""

import threading

counts = {}


def count(first, last):
    found = 0
    for number in range(first, last, 2):
        divisor = 3
        while divisor * divisor <= number and number % divisor:
            divisor += 2
        found += divisor * divisor > number
    counts[first] = found


threads = [threading.Thread(target=count, args=(first, first + 160000)) for first in (100001, 260001)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(sum(counts.values()))
