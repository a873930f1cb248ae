"""Import a drug register (CSV or JSON, also packed): products for people, by their DIN."""

from inventory.importers import catalogue_import
from pharmacy_site.lib.importing import ImportCommand


class Command(ImportCommand):
    """`import_catalogue FILE [--dry-run]`."""

    help = __doc__
    importer = staticmethod(catalogue_import)
