"""``python -m pgmpy_latent.cli`` is ``pgmpy-latent``."""

import sys

from pgmpy_latent.cli import main

if __name__ == "__main__":
    sys.exit(main())
