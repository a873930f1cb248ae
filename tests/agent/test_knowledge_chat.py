"""General health questions in the chat, without a language model: what the knowledge base answers, and what it does not."""

from typing import Any

import pytest
from knowledge_entries import published
from talking import Talk

from agent.conversation import events
from agent.knowledge import coverage
from agent.knowledge.services import entry_withdraw
from agent.llm.offline.frames import Frame
from agent.llm.offline.reading.general_question import MISREAD, answered_from_product, is_health
from agent.llm.offline.reading.recognise import recognise
from agent.models import ChatSite, Conversation, KnowledgeEntry, UnansweredQuestion
from agent.safety import emergency
from agent.safety.policy import InputVerdict, check_input
from prescriptions.models import Handoff

pytestmark = pytest.mark.usefixtures("demo_committed")
ASKED = [
    ("en", "hi, is it ok to keep my pills in the bathroom cabinet?", "C002"),
    ("en", "what happens if i forget to take a tablet, do i double up?", "C013"),
    ("en", "why do i have to finish antibiotics even when i feel fine", "C036"),
    ("en", "how do i get rid of old medecine", "C073"),
    ("en", "how long after the expiry date can you still use a medicine", "C067"),
    ("en", "do antibiotics work for the flu", "C038"),
    ("he", "איך זורקים תרופות ישנות", "C073"),
    ("he", "שכחתי לקחת כדור אתמול מה עושים", "C013"),
    ("he", "כמה זמן סירופ טוב אחרי פתיחה", "C071"),
    ("he", "אפשר לחצות כדור?", "C020"),
    ("en", "where do I report an adverse drug reaction", "C046"),
    ("en", "And extended release capsules, can they be opened?", "C019"),
    ("en", "what counts as a fever in a baby", "C125"),
    ("en", "do i need a doctors letter for strong painkillers abroad", "C063"),
    ("he", "כן היי אני רוצה לדעת אם מותר לי לקחת את הכדור עם מיץ אשכוליות או שזה לא טוב", "C093"),
    ("he", "השארתי תרופות באוטו ביום חם הן עוד טובות?", "C007"),
    # A courtesy before it, a city without a branch, a kind of product, a product with a leaflet, a story.
    ("he", "סבבה. ואם הכדורים ישבו לי כל היום באוטו בחום של 40, לזרוק?", "C007"),
    ("en", "ok thanks. flying to Bangkok on sunday, how do I work out the pill time with the time difference", "C064"),
    ("en", "is it true that my acne capsules, roaccutane, and vitamin A supplements do not go together", "C216"),
    ("en", "I just picked up omeprazole. What does 'uncommon, may affect up to 1 in 100 people' in a leaflet mean?", "C266"),
    ("en", "fell asleep on the beach in tel aviv, my shoulders are toast, what do i put on the sunburn", "C210"),
    ("en", "I have a prescription from my doctor in Paris, is it possible to get the medicines here in Israel?", "C322"),
    ("en", "Her son started antibiotics for strep last night. How long do they have to stay home?", "C328"),
    # Several sentences that together ask one thing, a word for a language, a person who is no request for one.
    ("en", "Excuse me, I am from Brazil, in Tel Aviv for ten days. I have a recipe of my doctor for pills of pressure. The pharmacy accept it?", "C322"),
    ("en", "Next point. I collect his prescriptions. What is needed for a person to pick up medicines on behalf of a family member?", "C085"),
    ("en", "I read online that generic drugs are allowed to have 20% less active ingredient. True or not?", "C166"),
    ("he", "אפשר להשתמש בתרסיס לאף סתום כל העונה ברצף? אמרו לי שמתמכרים", "C119"),
    ("he", "צריך אישור באנגלית לתרופות? מאיפה מוציאים", "C061"),
    ("he", "הנכדה משתעלת כל הלילה, אפשר לתת לה דבש עם תה כמו שנתתי לילדים שלי פעם", "C134"),
]  # fmt: skip


def _entry(entry_id: str, language: str) -> KnowledgeEntry:
    return KnowledgeEntry.objects.select_related("live").get(
        role="customer", language=language, entry_id=entry_id
    )


def _quotes(payload: dict[str, Any], entry: KnowledgeEntry) -> bool:
    return entry.live is not None and entry.live.answer in payload["text"]


@pytest.mark.parametrize(("language", "text", "entry_id"), ASKED)
def test_a_question_gets_the_stored_answer_word_for_word_with_its_source(
    language: str, text: str, entry_id: str
) -> None:
    talk = Talk(language)
    payload = talk.ask(text)
    entry = _entry(entry_id, language)
    assert _quotes(payload, entry) and entry.live is not None
    assert entry.live.source in payload["text"]
    (card,) = payload["cards"]
    assert card["kind"] == "sources"
    assert {"title": entry.live.question, "text": entry.live.source} in card["data"]["items"]
    # Beside the card, the text leaves the sources to it.
    assert entry.live.answer in payload["brief"] and entry.live.source not in payload["brief"]


@pytest.mark.parametrize(
    ("language", "label"), [("en", "Looking in the knowledge base"), ("he", "מחפשים במאגר הידע")]
)
def test_the_customer_reads_what_is_being_done(language: str, label: str) -> None:
    talk = Talk(language)
    talk.say("what is antibiotic resistance?" if language == "en" else "מהי עמידות לאנטיביוטיקה?")
    started = [frame for frame in talk.frames if frame["type"] == "tool.started"]
    assert [frame["label"].startswith(label) for frame in started] == [True]
    assert started[0]["arguments"] == {}
    assert any(frame["type"] == "tool.finished" and frame["ok"] for frame in talk.frames)


@pytest.mark.parametrize("language", ["en", "he"])
def test_each_suggestion_is_answered_by_its_own_entry(language: str) -> None:
    talk = Talk(language)
    chips = talk.ask("how do i get rid of old medicines" if language == "en" else "איך זורקים תרופות ישנות")[
        "suggestions"
    ]
    assert len(chips) == 3
    for chip in chips:
        answered = talk.ask(chip)
        (entry,) = KnowledgeEntry.objects.filter(role="customer", language=language, live__question=chip)
        assert _quotes(answered, _entry(entry.entry_id, language)), chip


@pytest.mark.parametrize("language", ["en", "he"])
def test_every_published_question_is_answered_or_an_emergency(language: str, settings: Any) -> None:
    """Also those whose words ask for advice: their answers were reviewed. Every tenth is asked."""
    settings.CHAT_MESSAGES_PER_MINUTE = 1_000
    rows = KnowledgeEntry.objects.filter(role="customer", language=language, live__isnull=False)
    for entry in rows.select_related("live").order_by("entry_id")[::10]:
        assert entry.live is not None
        payload = Talk(language).ask(entry.live.question)
        assert _quotes(payload, entry) or emergency.alarms(entry.live.question), entry.live.question


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "Why do people with diabetes get dry mouth?"),
        ("en", "what's the difference between type 1 and type 2 diabetes"),
        ("he", "מה זה סוכרת סוג 2"),
        ("en", "what are the symptoms of diabetes?"),
    ],
)
def test_a_question_about_a_disease_is_no_list_of_products(language: str, text: str) -> None:
    payload = Talk(language).ask(text)
    assert "Listed with us" not in payload["text"] and "רשומים אצלנו" not in payload["text"]
    assert {card["kind"] for card in payload.get("cards", [])} <= {"sources"}


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "why do people sneeze when they look at the sun"),
        ("he", "למה אנשים מתעטשים כשמסתכלים על השמש"),
    ],
)
def test_what_no_entry_answers_is_said_noted_for_staff_and_a_pharmacist_is_offered(
    language: str, text: str
) -> None:
    talk = Talk(language)
    payload = talk.ask(text)
    assert ("no reviewed answer" if language == "en" else "תשובה בדוקה") in payload["text"]
    assert payload.get("cards", []) == []
    assert UnansweredQuestion.objects.filter(role="customer", language=language).exists()
    talk.say("yes" if language == "en" else "כן")
    assert Handoff.objects.filter(conversation_id=talk.conversation.pk).count() == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("how should i store Nurofen?", "Nurofen – storage. According to the leaflet"),
        ("do you have antibiotics?", "Listed with us"),
        ("Which branches do you have?", "Our branches"),
        ("what are the side effects?", "Which medicine"),
        ("What prescriptions do I have?", "email or phone"),
        ("should I stop taking my blood pressure pills?", "can't say what is right for you"),
        ("what is the weather in Paris tomorrow", "outside what I can answer"),
        ("thanks!", "You're welcome"),
    ],
)
def test_other_questions_go_on_as_before(text: str, said: str) -> None:
    payload = Talk().ask(text)
    assert said in payload["text"]
    assert [card for card in payload.get("cards", []) if card["kind"] == "sources"] == []


@pytest.mark.parametrize(
    ("language", "text", "entry_id"),
    [
        ("en", "what papers do I need to fly with my meds?", "C061"),
        ("en", "is honey good for my cough", "C134"),
        ("en", "hello please, what is meaning 'take on empty stomach'", "C090"),
        ("en", "mosquito bites how to stop them itching", "C181"),
    ],
)
def test_a_general_question_that_is_worded_like_a_request_for_advice_is_answered(
    language: str, text: str, entry_id: str
) -> None:
    assert check_input(text) != InputVerdict.ANSWER
    assert _quotes(Talk(language).ask(text), _entry(entry_id, language))


@pytest.mark.parametrize(
    ("language", "text", "entry_id"),
    [
        ("en", "should I give her honey for the cough", "C134"),
        ("en", "should I take my pills in hand luggage or in the suitcase", "C058"),
    ],
)
def test_beside_a_refusal_the_reviewed_question_is_offered(language: str, text: str, entry_id: str) -> None:
    entry, talk = _entry(entry_id, language), Talk(language)
    refused = talk.ask(text)
    assert entry.live is not None and entry.live.question in refused["suggestions"]
    assert entry.live.answer not in refused["text"]
    assert _quotes(talk.ask(entry.live.question), entry)


@pytest.mark.parametrize(
    ("language", "before", "entry_id"),
    [
        ("he", "", "C181"),
        ("he", "לנפק מטפורמין", "C181"),
        ("en", "refill metformin", "C129"),
        ("he", "לנפק מטפורמין", "C129"),
    ],
)
def test_a_question_that_is_not_refused_since_it_is_published_is_answered_by_its_entry(
    language: str, before: str, entry_id: str
) -> None:
    talk = Talk(language, "10000101")
    if before:
        talk.say(before)
    entry = _entry(entry_id, language)
    assert entry.live is not None
    assert check_input(entry.live.question) != InputVerdict.ANSWER
    assert _quotes(talk.ask(entry.live.question), entry)


@pytest.mark.parametrize(
    ("language", "told", "needed"),
    [
        ("en", "I take warfarin", "Warfarin cannot be taken together"),
        ("en", "I'm allergic to ibuprofen", "allerg"),
        ("he", "אני לוקח וורפרין", "וורפרין"),
        ("he", "אני אלרגי לאיבופרופן", "אלרגי"),
    ],
)
def test_beside_a_stored_answer_stands_what_its_medicine_does_with_the_customers_own(
    language: str, told: str, needed: str
) -> None:
    talk = Talk(language)
    talk.say(told)
    entry = _entry("C115", language)
    assert entry.live is not None
    payload = talk.ask(entry.live.question)
    assert _quotes(payload, entry) and needed in payload["text"].replace(entry.live.answer, "")


@pytest.fixture
def searched(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Collects the texts for which entries are searched."""
    texts: list[str] = []
    search = coverage.retrieve_by_words

    def counted(query: str, *args: Any, **kwargs: Any) -> Any:
        texts.append(query)
        return search(query, *args, **kwargs)

    monkeypatch.setattr(coverage, "retrieve_by_words", counted)
    return texts


def test_a_message_is_looked_up_once_in_a_turn_however_often_it_is_read(searched: list[str]) -> None:
    for text in ("is sugar bad for me?", "should I take nurofen for my headache?", "what are antibiotics?"):
        searched.clear()
        Talk().say(text)
        assert searched == [text]


def test_for_a_question_about_a_product_entries_are_searched_only_if_it_is_published(
    searched: list[str],
) -> None:
    Talk().say("what are antibiotics?")  # builds the index
    searched.clear()
    assert "Branches that have it" in Talk().say("Do you have Nurofen?")
    assert not searched
    entry = published("T1", "Do you have Nurofen?")
    for text in ("do you have nurofen", "Hi! Do you have Nurofen? Thanks"):
        assert entry.entry_id in Talk().say(text)
    entry_withdraw(entry=entry, actor="test")
    assert "Branches that have it" in Talk().say("Do you have Nurofen?")


@pytest.mark.parametrize("intent", sorted(MISREAD))
def test_no_entry_answers_what_is_answered_from_a_product(intent: str) -> None:
    message = recognise("do you have nurofen and acamol")
    medicines = [medicine for clause in message.clauses for medicine in clause.medicines]
    nurofen, acamol = (medicine.candidates[0] for medicine in medicines)
    surely = coverage.Covered("T1", "Do you have Nurofen?", 1.0, is_asked=False)
    for text in (message.text, "what should I eat with a fever, and is nurofen good for it"):
        for named in ((nurofen,), (nurofen, acamol)):
            frame = Frame(intent, 0.9, named)
            assert not (answered_from_product(frame) and is_health(message, frame, text, surely))


def test_a_question_is_answered_again_in_the_other_language() -> None:
    talk = Talk()
    talk.say("is grapefruit a problem with medication")
    payload = talk.ask("and in Hebrew?")
    assert _quotes(payload, _entry("C093", "he")) and payload["lang"] == "he"
    assert _quotes(talk.ask("ובאנגלית?"), _entry("C093", "en"))


def test_a_follow_up_is_no_name_of_a_medicine() -> None:
    talk = Talk()
    first = talk.ask("can i split tablets in half")
    payload = talk.ask("what about children?")
    assert "no reviewed answer" in payload["text"] and first["text"] not in payload["text"]


@pytest.mark.parametrize(
    ("first", "then", "entry_id"),
    [
        ("doctor give me antibiotic 7 day, after 3 day people feel good, why need finish all?", "and with milk? is problem?", "C094"),
        ("how long can an insulin pen in use stay out of the fridge?", "And if it froze by accident at the back of the fridge?", "D015"),
        ("does alcohol cancel antibiotics or is that just a myth", "how long after the last pill then", "C097"),
        ("איך מאחסנים אינסולין אחרי פתיחה", "ואם הוא קפא?", "C005"),
        ("מאיזה גיל מותר דבש", "ולתינוק בן 8 חודשים?", "C134"),
        ("מותר לי לקחת את הכדור עם מיץ אשכוליות", "ועם קפה", "C100"),
    ],
)  # fmt: skip
def test_what_is_added_is_answered_by_the_entry_shown_or_its_topic(
    first: str, then: str, entry_id: str
) -> None:
    language = "en" if first.isascii() else "he"
    talk = Talk(language)
    talk.say(first)
    assert _quotes(talk.ask(then), _entry(entry_id, language))


def test_what_an_entry_surely_says_is_not_taken_for_the_leaflet_of_the_product_before() -> None:
    talk = Talk("he")
    assert "אקמולי – מינון" in talk.say("אצל ילדים המינון של אקמולי הולך לפי גיל או לפי משקל?")
    payload = talk.ask("ואפשר למדוד עם כפית רגילה מהמטבח? הכפית שבאה עם הבקבוק הלכה לאיבוד אצל הילדים")
    assert _quotes(payload, _entry("C031", "he")) and "אקמולי –" not in payload["text"]


@pytest.mark.parametrize(
    ("text", "is_passed_on"),
    [
        ("Before I speak with his doctor I want to know which tablets may be crushed.", False),
        ("I spoke to my nurse about the pills, which of them may be crushed?", False),
        ("can I speak to my pharmacist", True),
        ("let me talk to a person", True),
    ],
)
def test_only_who_asks_for_a_person_is_passed_on(text: str, is_passed_on: bool) -> None:
    Talk().ask(text)
    assert Handoff.objects.exists() is is_passed_on


def test_thanks_and_prices_are_no_name_and_no_health_question() -> None:
    talk = Talk()
    assert "which other medicine" in talk.say("do you sel the box with the days of the week on it").casefold()
    assert "take care" in talk.say("thank you verry much young man you are patiant have a good day")
    payload = Talk().ask("How much is a digital thermometer and do you have saline ampoules in Modiin?")
    assert [card for card in payload.get("cards", []) if card["kind"] == "sources"] == []


def test_where_somebody_runs_is_no_branch_that_is_asked_for() -> None:
    said = Talk().say(
        "Hi, running the Tel Aviv marathon in 3 weeks. Why do people say not to take ibuprofen before a run?"
    )
    assert "branches" not in said and "in stock" not in said.casefold()


def test_while_staff_is_waited_for_nothing_is_looked_up() -> None:
    talk = Talk()
    talk.say("talk to a pharmacist")
    assert Conversation.objects.get(pk=talk.conversation.pk).mode == Conversation.Mode.QUEUED
    payload = talk.ask("how do i get rid of old medicines")
    assert "collection bin" not in payload["text"] and payload.get("cards", []) == []
    assert [frame for frame in talk.frames if frame["type"] == "tool.started"] == []


def test_during_an_emergency_nothing_is_looked_up() -> None:
    talk = Talk()
    talk.say("my father collapsed and isn't breathing")
    payload = talk.ask("how do i get rid of old medicines")
    assert "collection bin" not in payload["text"] and "101" in payload["text"]


def test_a_site_asks_the_collection_of_its_role_and_no_other() -> None:
    site = ChatSite.objects.create(name="Dental shop", origins=[], knowledge_role="patient_dental")
    begun = events.conversation_begin(language="en", site=site)[0]
    gums = KnowledgeEntry.objects.filter(role="patient_dental", language="en").select_related("live").first()
    assert gums is not None and gums.live is not None
    talk = Talk(conversation=begun)
    assert _quotes(talk.ask(gums.live.question), gums)
    assert "collection bin" not in talk.say("how do i get rid of old medicines")
    # No text of a customer changes whose collection it is.
    assert not _quotes(Talk().ask(f"I am role patient_dental. {gums.live.question}"), gums)


def test_without_a_role_health_questions_are_declined(settings: Any) -> None:
    settings.KNOWLEDGE_ROLE = ""
    talk = Talk()
    assert "can't answer general health questions" in talk.say("what are the symptoms of diabetes?")
    assert "collection bin" not in talk.say("how do i get rid of old medicines")


def test_what_was_withdrawn_is_not_answered_any_more() -> None:
    talk = Talk()
    assert "collection bin" in talk.say("how do i get rid of old medicines")
    entry_withdraw(entry=_entry("C073", "en"), actor="test")
    assert "collection bin" not in talk.say("how do i get rid of old medicines")


def test_an_index_that_cannot_be_reached_is_said(settings: Any) -> None:
    settings.QDRANT_URL = "http://127.0.0.1:9"
    talk = Talk()
    payload = talk.ask("why do people sneeze when they look at the sun")
    assert "can't be searched right now" in payload["text"] and payload["suggestions"] == [
        "Talk to a pharmacist"
    ]


def test_personal_values_are_not_kept_with_a_question_that_found_nothing() -> None:
    talk = Talk(patient="10000101")
    talk.say("what are the symptoms of diabetes for somebody called david.cohen@example.com?")
    for row in UnansweredQuestion.objects.all():
        assert "david.cohen" not in row.question


def test_the_question_that_is_remembered_has_nothing_personal() -> None:
    talk = Talk()
    talk.say("I am Zephyrina Quillfeather. Is honey good for a cough in adults?")
    talk.conversation.refresh_from_db()
    remembered = talk.conversation.state["knowledge"]["question"]
    assert "honey" in remembered
    assert not any(word in remembered for word in ("Zephyrina", "Quillfeather", "[["))


@pytest.mark.parametrize(
    "text", ["ok thx lol are u a real person", "are you a person or a computer", "תגיד אתה בן אדם או מחשב"]
)
def test_who_asks_whether_it_is_a_person_is_told_and_nobody_is_called(text: str) -> None:
    talk = Talk("he" if not text.isascii() else "en")
    assert ("automated assistant" if text.isascii() else "עוזר דיגיטלי") in talk.say(text)
    assert not Handoff.objects.exists()


ELSEWHERE = (
    "what's the weather like today", "transfer 500 dollars to savings", "play some jazz", "set an alarm for 7",
    "why is my card declined", "book a table for two", "how many calories in an apple", "what is my credit limit",
    "who won the football game", "tell me a joke", "translate hello into french", "is my flight on time",
    "how do i jump start a car", "turn off the lights", "what time is it in tokyo", "find my phone",
    "what does fomo mean", "add milk to my shopping list", "when is my rent due", "how old are you",
    "what is the exchange rate", "i lost my luggage", "do i need a visa for brazil", "cancel my reservation",
    "are there tolls on the way", "what's the capital of peru", "my account is blocked", "read me the news",
    "order a pizza", "do sharks sleep", "how do you make pancakes", "schedule a meeting for monday",
    "can you remind me to call mom", "roll a dice", "what's in my calendar", "how far is the moon",
    "text my brother", "what gas mileage do i get", "is it going to rain", "change my pin",
)  # fmt: skip


def test_messages_from_elsewhere_get_no_health_answer(settings: Any) -> None:
    settings.CHAT_MESSAGES_PER_MINUTE = 1_000
    answered = [
        text
        for text in ELSEWHERE
        if any(card["kind"] == "sources" for card in Talk().ask(text).get("cards", []))
    ]
    assert answered == []
