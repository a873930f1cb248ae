"""Import towns that customers may name (JSON or CSV, also packed with gzip)."""

from pharmacy_site.lib.importing import ImportCommand
from stores.importer import localities_import


class Command(ImportCommand):
    """`import_localities FILE [--dry-run]`."""

    help = __doc__
    importer = staticmethod(localities_import)
