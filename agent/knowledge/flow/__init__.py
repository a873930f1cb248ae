"""Answer a question with stored answers and their sources, by the medical agent flow of S4. `ask.py` is the entry point."""
