"""The knowledge base of health questions: entries with sources, how they are found, imported, published and shown."""
