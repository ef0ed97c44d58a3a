"""`python -m masgym` is the command `masgym`."""

import sys

from masgym.cli import main

if __name__ == "__main__":
    sys.exit(main())
