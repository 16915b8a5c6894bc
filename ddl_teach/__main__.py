"""`python -m ddl_teach` is the command-line tool."""

import sys

from ddl_class.cli import main

sys.exit(main())
