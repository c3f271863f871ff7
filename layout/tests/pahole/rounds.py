#!/usr/bin/env python3
"""Processor time (user and system) of commands that take turns, and how it compares with that of the first.

usage: layout/tests/pahole/rounds.py ROUNDS -- COMMAND... -- COMMAND... [-- COMMAND...]

For each: the median, and the median of the ratios to the first command of the same round with the interval that holds it in
95 of 100 (bootstrap). Rounds start with another command each; a round before them is not counted.

    rounds.py 61 -- target/release/nrt-layout show vmlinux list_head -- pahole -C list_head vmlinux
"""

import os
import random
import statistics
import sys

DRAWS = 2000


def once(command):
    quiet = [(os.POSIX_SPAWN_OPEN, fd, "/dev/null", os.O_WRONLY, 0) for fd in (1, 2)]
    child = os.posix_spawnp(command[0], command, os.environ, file_actions=quiet)
    used = os.wait4(child, 0)[2]
    return used.ru_utime + used.ru_stime


def interval(values):
    chance = random.Random(1)
    medians = sorted(statistics.median(chance.choices(values, k=len(values))) for _ in range(DRAWS))
    return medians[DRAWS * 25 // 1000], medians[DRAWS * 975 // 1000]


def main(words):
    if len(words) < 3 or words[1] != "--":
        sys.exit(__doc__)
    rounds, commands = int(words[0]), []
    for word in words[1:]:
        if word == "--":
            commands.append([])
        else:
            commands[-1].append(word)
    times = [[] for _ in commands]
    for number in range(rounds + 1):
        for turn in range(len(commands)):
            which = (turn + number) % len(commands)
            spent = once(commands[which])
            if number > 0:
                times[which].append(spent)
    for command, spent in zip(commands, times):
        line = f"{statistics.median(spent) * 1e3:10.2f} ms"
        if command is not commands[0]:
            ratios = [one / first for one, first in zip(spent, times[0])]
            low, high = interval(ratios)
            line += f" {statistics.median(ratios):8.2f} ({low:.2f} to {high:.2f}) times the first"
        print(line, " ", " ".join(command))


if __name__ == "__main__":
    main(sys.argv[1:])
