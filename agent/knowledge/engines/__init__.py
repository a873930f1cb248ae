"""The engines behind `CollectionIndex`; each is imported only when it is used."""
