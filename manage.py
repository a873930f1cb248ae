#!/usr/bin/env python
"""Django's command line for the pharmacy."""

import gc
import os
import sys


def main() -> None:
    """Run the command that the arguments name."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "pharmacy_site.settings")
    # Nothing that is loaded here becomes garbage; looking for it takes a third of a command's start.
    gc.disable()
    import django

    django.setup()
    gc.freeze()
    gc.enable()
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
