"""Ordinary words within a sentence are not looked up as names of medicines; what a short question names is."""

import pytest
from talking import Talk

from agent.knowledge.scope import is_out_of_scope
from agent.safety.policy import InputVerdict, check_input

pytestmark = pytest.mark.usefixtures("demo_committed")
NO_SUCH = {"en": "couldn't find a medication named", "he": "לא מצאתי תרופה בשם"}


@pytest.mark.parametrize(
    ("language", "text"),
    [
        (
            "en",
            "I should be obliged if you would tell me whether tablets may be crushed when they are hard to swallow",
        ),
        ("en", "my aunt is very proud of her garden and the roses smell lovely this spring"),
        ("he", "אני מתה מעייפות הילדים האלה יגמרו אותי, יש משהו לגזים של תינוקות?"),
        ("he", "המרשם נגמר והרופא שלי בחופש עד יום ראשון הבא"),
    ],
)
def test_ordinary_words_of_a_sentence_are_no_names(language: str, text: str) -> None:
    assert NO_SUCH[language] not in Talk(language).say(text)


@pytest.mark.parametrize(
    ("language", "text", "name"),
    [
        ("en", "do you have zinc?", "zinc"),
        ("en", "do you sell ozempic", "ozempic"),
        ("he", "יש לכם אוזמפיק?", "אוזמפיק"),
    ],
)
def test_what_a_short_question_names_is_looked_up(language: str, text: str, name: str) -> None:
    assert name in Talk(language).say(text)


@pytest.mark.parametrize(
    "text", ["I forgot my pill before going to sleep", "שכחתי את הכדור לפני שאני הולכת לישון"]
)
def test_going_to_bed_alone_is_no_farewell(text: str) -> None:
    answer = Talk("he" if text[0] > "z" else "en").say(text)
    assert "Goodbye" not in answer and "להתראות" not in answer


@pytest.mark.parametrize(
    "text",
    [
        "im on roaccutane and my coach says take vitamin A + omega, should i?",
        "feel fine since yesterday so could just stop taking it no?",
        "מרגיש מצוין אז אפשר פשוט להפסיק לקחת?",
    ],
)
def test_a_decision_asked_for_at_the_end_is_refused(text: str) -> None:
    assert check_input(text) != InputVerdict.ANSWER


def test_an_unknown_name_in_a_city_without_a_branch_is_not_taken_for_the_medicine_before() -> None:
    talk = Talk()
    talk.say("what does nurofen cost")
    answer = talk.say("ok will call her tomorrow. do you have gaviscon at the branch in haifa?")
    assert NO_SUCH["en"] in answer and "gaviscon" in answer and "Nurofen" not in answer


@pytest.mark.parametrize(
    ("language", "text", "said"),
    [
        ("he", "אני מת מעייפות, הולך לישון, תודה נשמה", "להתראות"),
        ("en", "dead tired, going to bed now, thanks", "Goodbye"),
        ("he", "חיכיתי אצלכם שעה ורבע בתור אתמול בשביל טיפות עיניים, בושה וחרפה", "צר לי שמשהו השתבש"),
        ("en", "your saleswoman shouted at me yesterday because of my accent", "sorry that something went wrong"),
    ],
)  # fmt: skip
def test_a_farewell_and_a_complaint_are_answered_as_such(language: str, text: str, said: str) -> None:
    assert said in Talk(language).say(text)


@pytest.mark.parametrize(
    "text",
    [
        "ok and can I use the armpit thermometer or the other one",
        "OK but is the ear one just as exact for a child",
    ],
)
def test_a_yes_that_goes_on_calls_no_person(text: str) -> None:
    talk = Talk()
    assert "shall I pass you on" in talk.say("should I take Nurofen for my back?")
    assert talk.ask(text)["text"] and not any(
        card["kind"] == "handoff" for card in talk.payload.get("cards", [])
    )
    talk.say("should I take Nurofen for my back?")
    assert any(card["kind"] == "handoff" for card in talk.ask("yes please, a pharmacist")["cards"])


@pytest.mark.parametrize(
    ("language", "text", "refusal"),
    [
        ("en", "my sugar is 240 now. take extra metformin?", "I can't work out a dose for a person"),
        ("en", "it's warfarin. so give it now at 4pm or skip?", "I can't say what is right for you"),
        (
            "en",
            "it was 108 over 62 this morning so I will skip tonight's ramipril, yes?",
            "I can't say what is right",
        ),
        ("he", 'כמה מ"ג אני צריך לקחת ביום לפי המשקל שלי, 92 קילו', "מינון לאדם"),
    ],
)
def test_what_to_do_with_a_dose_is_refused(language: str, text: str, refusal: str) -> None:
    assert refusal in Talk(language).say(text)


@pytest.mark.parametrize(
    "text",
    [
        "I'll stop by the Jaffa branch later, ok?",
        "I'll skip the delivery and come myself, ok?",
        "will the price of Advil go down to 1 shekel",
    ],
)
def test_plans_about_anything_but_a_dose_are_not_refused(text: str) -> None:
    assert check_input(text) == InputVerdict.ANSWER


@pytest.mark.parametrize(
    ("text", "question", "is_out"),
    [
        ("how are medicines packed for a flight", "How do I travel with diabetes supplies?", True),
        ("flying with diabetis", "How do I travel with diabetes supplies?", False),
        ("travel with my insulin pens", "How do I travel with diabetes supplies?", False),
        ("where do I throw away used needles", "What do I do with used needles and lancets?", False),
        ("what counts as fever in a 2 month old", "What counts as a fever in an adult?", True),
        ("כמה חום זה הרבה לתינוק בן שבועיים", "ממתי זה חום אצל מבוגר?", True),
        ("יש טעם לדווח", "יש טעם לדווח על תופעת לוואי קלה או מוכרת?", False),
    ],
)
def test_entries_for_others_are_out_of_scope(text: str, question: str, is_out: bool) -> None:
    assert is_out_of_scope(text, question) == is_out
