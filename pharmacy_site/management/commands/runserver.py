"""`manage.py runserver`: daphne's development server, which serves the chat as well.

It is imported here instead of being an installed app: there, every command would load its event loop (0.3 s).
"""

from daphne.management.commands.runserver import Command

__all__ = ["Command"]
