"""The channel layer as a bell that may be out of order: sockets open all the same and read the log instead."""

import asyncio
import logging
import uuid
from typing import Any, cast

from channels_redis.pubsub import RedisPubSubChannelLayer

log = logging.getLogger(__name__)
DEAF = "deaf."


class RedisBell(RedisPubSubChannelLayer):
    """Redis' pub/sub layer; a socket that opens while Redis is down gets a channel on which nothing is heard."""

    async def new_channel(self, prefix: str = "specific.") -> str:
        try:
            return cast("str", await self._get_layer().new_channel(prefix))
        except Exception as error:  # redis-py raises many kinds; each means that nothing can be heard now
            log.warning("channel layer unavailable: %s", type(error).__name__)
            return f"{DEAF}{uuid.uuid4().hex}"

    async def receive(self, channel: str) -> dict[str, Any]:
        if channel.startswith(DEAF):
            await asyncio.Event().wait()
        return cast("dict[str, Any]", await self._get_layer().receive(channel))
