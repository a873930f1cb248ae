"""Answer while operators have closed the chat: with their text and the number to call, and with nothing else."""

from django.conf import settings

from agent.answers.answer import Answer, compose
from agent.answers.render import say
from agent.inference.base import FixedReply, Session
from agent.models import Conversation, Run
from agent.threads import run_db
from agent.turn import open_emergency
from agent.turn.context import TurnContext
from prescriptions.switches import board


async def closed_session(context: TurnContext) -> Session | None:
    """Return the session that says that the chat is closed; None while it is open.

    An open emergency goes on, but confirms nothing; so does a conversation that a member of staff has, since they answer it.
    """
    switches = await run_db(board.read)() if board.is_old else board.known
    if not switches.chat_closed or context.conversation.mode == Conversation.Mode.HUMAN:
        return None
    turn = context.turn
    if open_emergency.is_open(turn.state) and context.run.kind != Run.Kind.CONFIRM:
        return None
    text = switches.closed_text.get(turn.language) or say("chat_closed", turn.language)
    urgent = say("urgent_line", turn.language, medical=settings.EMERGENCY_MEDICAL)
    return FixedReply(turn, compose([Answer([text, urgent])], turn.language, turn.state, fixed=True))
