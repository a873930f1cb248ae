"""Read which names and numbers of customers' messages are nobody's secret: medicines on file, phones of branches."""

from collections.abc import Sequence
from typing import Final

from agent.llm.offline.reading.known_words import common_words
from agent.safety.privacy.comparing import PUBLIC_FROM
from agent.safety.privacy.public import Public
from inventory import catalog
from stores.selectors import phones_of_stores

_NO_PHONES: Final[Sequence[str]] = ()


def public_in(texts: Sequence[str]) -> Public:
    """Return what is public in these messages; of a long conversation the first ones are looked at."""
    text = "\n".join(texts)
    mentions = catalog.mentions_in(text, ignore=common_words())
    has_phone = sum(map(str.isdigit, text)) >= PUBLIC_FROM
    return Public.of((one.text for one in mentions), phones_of_stores() if has_phone else _NO_PHONES)
