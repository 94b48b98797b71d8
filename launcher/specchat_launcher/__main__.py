"""`python -m specchat_launcher`."""

import sys

from specchat_launcher.cli import main

sys.exit(main())
