#!/usr/bin/env python
"""Django's command line for the pharmacy."""

import gc
import os
import sys

from pharmacy_site.lib.private_files import new_files_private

PUBLIC = frozenset(
    {"collectstatic", "compilemessages", "makemessages", "makemigrations", "train_understanding"}
    | {"write_contracts", "write_refill_diagram"}
)
"""Commands that write files of the program, which others may read."""


def main() -> None:
    """Run the command that the arguments name."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "pharmacy_site.settings")
    if not PUBLIC.intersection(sys.argv[1:2]):
        new_files_private()
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
