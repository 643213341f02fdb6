"""``python -m auctor`` is the command line."""

import sys

from auctor.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
