"""`python -m ddl_teach` is the command-line tool."""

import sys

from ddl_teach.cli import main

sys.exit(main())
