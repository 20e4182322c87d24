"""The command line as ``python -m margin``."""

import sys

from .cli.main import main

sys.exit(main())
