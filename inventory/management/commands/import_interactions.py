"""Import interactions by ingredient pair (CSV or JSON, also packed); a level is never lowered."""

from inventory.interactions_importer import interactions_import
from pharmacy_site.lib.importing import ImportCommand


class Command(ImportCommand):
    """`import_interactions FILE [--dry-run]`."""

    help = __doc__
    importer = staticmethod(interactions_import)
