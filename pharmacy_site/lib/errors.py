"""The base of every error that the pharmacy raises on purpose."""


class PharmacyError(Exception):
    """A refusal with data: subclasses carry what the border needs; codes and sentences belong to the border.

    The message never holds a name, a contact or an identifier: it may reach a log.
    """
