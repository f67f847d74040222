#!/usr/bin/env python3
"""One element of a sweep over learning rates: MOULIN_ARRAY_INDEX chooses which.

    moulin run --gpu 0.25 --array 0-3 --name sweep -- python3 examples/sweep/sweep.py
"""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "digits"))
import train  # noqa: E402: examples/digits, found by the line above

RATES = (0.3, 0.1, 0.03, 0.01, 0.003, 0.001)


def main():
    index = int(os.environ.get("MOULIN_ARRAY_INDEX", "0"))
    if index >= len(RATES):
        sys.exit(f"there are {len(RATES)} learning rates; use --array 0-{len(RATES) - 1}")
    sys.argv[1:] = ["--learning-rate", str(RATES[index]), *sys.argv[1:]]
    train.main()


if __name__ == "__main__":
    main()
