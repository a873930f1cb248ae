"""Make facts of results: each a whole sentence of ours about one subject, which every model only chooses (docs/facts.md)."""
