"""The base of every error that the pharmacy raises on purpose."""


class PharmacyError(Exception):
    """A refusal with data: subclasses carry what the border needs; codes and sentences belong to the border.

    The message never holds a name, a contact or an identifier: it may reach a log.
    """


def trace_of(error: BaseException) -> str:
    """The last places that an exception passed, without its text: what it says may be a person's data."""
    lines = []
    step = error.__traceback__
    while step is not None:
        code = step.tb_frame.f_code
        lines.append(f"{code.co_filename.rsplit('/', 1)[-1]}:{step.tb_lineno}:{code.co_name}")
        step = step.tb_next
    return " ".join(lines[-8:])
