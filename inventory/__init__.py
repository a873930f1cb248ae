"""What there is: medications, how their names are found, and how many packs each store has."""
