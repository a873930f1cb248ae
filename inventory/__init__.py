"""Hold the catalogue: medications, the search for their names, interactions, and each store's stock."""
