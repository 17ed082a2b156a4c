"""`python -m rubato`: the command, where its script is not on the path."""

# SPDX-License-Identifier: MIT
from rubato.cli import main

if __name__ == "__main__":
    main()
