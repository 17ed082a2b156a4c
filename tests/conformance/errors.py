#!/usr/bin/env python3
"""Runs every misuse of the conformance suite in a process of its own: the exit code and the expected sentence.

    errors.py PROGRAM [RUNNER ...]        for example: errors.py guest/conformance rubato-chip --set cores=4

PROGRAM lists its misuses itself (--list-errors); with a RUNNER it is the runner's argument. The exit code is 3, and the
sentence all that the runner says on stderr; where no task can run it ends with 4 and says behind that who waits.
"""
# SPDX-License-Identifier: MIT
import re
import subprocess
import sys


def main() -> int:
    if len(sys.argv) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    command = [*sys.argv[2:], sys.argv[1]]
    table = subprocess.run([*command, "--list-errors"], check=True, capture_output=True, text=True).stdout
    cases = [line.split("\t") for line in table.splitlines() if "\t" in line]
    if not cases:
        print("no misuses listed", file=sys.stderr)
        return 1
    failed = 0
    for name, sentence in cases:
        run = subprocess.run([*command, "--error", name], capture_output=True, text=True)
        said = run.stdout + run.stderr
        is_stuck = sentence.startswith("no task can run") and len(sys.argv) > 2
        expected = 4 if is_stuck else 3
        passed = run.returncode == expected and re.search(sentence, said) is not None
        passed &= len(sys.argv) == 2 or is_stuck or len(run.stderr.splitlines()) == 1
        print(f"{name}: {'passed' if passed else 'failed'}")
        if not passed:
            failed += 1
            print(f"  expected exit code {expected} and: {sentence}\n  exit code {run.returncode}, output: {said}")
    print(f"check: {'failed' if failed else 'passed'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
