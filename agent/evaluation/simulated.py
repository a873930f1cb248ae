"""stub replaced below"""
from agent.evaluation.chat import Answer, Chat
from agent.evaluation.scenario import Scenario


class SimulatedCustomer:
    def __init__(self, scenario: Scenario) -> None:
        raise NotImplementedError

    async def talk(self, chat: Chat, site_url: str) -> list[Answer]:
        raise NotImplementedError
