"""Hold stores, their opening hours, the towns that customers name, and distances."""
