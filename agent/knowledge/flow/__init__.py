"""The specification's medical agent flow (S4): from a question to stored answers with their sources. Begin at `ask.py`."""
