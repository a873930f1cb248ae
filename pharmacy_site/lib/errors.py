"""The base class of every error that the pharmacy raises on purpose, and a traceback that is safe to log."""


class PharmacyError(Exception):
    """Refuse something, with the data that explains it; HTTP, chat and tools choose their own codes and sentences.

    The message never holds a name, a contact or an identifier, because it may be logged.
    """


def trace_of(error: BaseException) -> str:
    """Return the last places that an exception passed, without its message, which may hold personal data."""
    lines = []
    step = error.__traceback__
    while step is not None:
        code = step.tb_frame.f_code
        lines.append(f"{code.co_filename.rsplit('/', 1)[-1]}:{step.tb_lineno}:{code.co_name}")
        step = step.tb_next
    return " ".join(lines[-8:])
