"""The connecting sentences that a language model may name: name → (English, Hebrew), and how one is recognised.

"[ask_branch]" in a model's text becomes the sentence in the answer's language. They are all that it says beside facts, so none may
state anything, agree to anything or approve of anything, whatever the customer wrote before. The names explain themselves, because
the prompt lists nothing but them.
"""

from functools import cache
from typing import Final

from pharmacy_site.lib.text import Language, words

CONNECTING: Final[dict[str, tuple[str, str]]] = {
    "hello": ("Hello!", "שלום!"),
    "welcome": ("Welcome!", "ברוכים הבאים!"),
    "good_morning": ("Good morning!", "בוקר טוב!"),
    "good_evening": ("Good evening!", "ערב טוב!"),
    "thank_you": ("Thank you!", "תודה לכם!"),
    "thanks_for_asking": ("Thanks for asking.", "תודה על השאלה."),
    "thanks_for_telling": ("Thank you for telling me.", "תודה שסיפרתם."),
    "you_are_welcome": ("You're welcome!", "על לא דבר!"),
    "understand": ("I see what you are asking.", "השאלה ברורה."),
    "sorry_to_hear": ("I'm sorry to hear that.", "צר לי לשמוע."),
    "sounds_hard": ("That sounds hard.", "זה נשמע לא קל."),
    "sorry_for_trouble": ("I'm sorry for the trouble.", "צר לי על הטרחה."),
    "apologise": ("Sorry about that.", "סליחה על כך."),
    "misunderstood": ("Sorry, I misunderstood you.", "סליחה, לא הבנתי אתכם נכון."),
    "get_well": ("Get well soon!", "החלמה מהירה!"),
    "all_the_best": ("All the best to you and yours!", "כל טוב לכם ולקרובים לכם!"),
    "good_day": ("Have a good day!", "יום טוב!"),
    "good_night": ("Good night!", "לילה טוב!"),
    "shabbat_shalom": ("Shabbat shalom!", "שבת שלום!"),
    "goodbye": ("Goodbye, all the best!", "להתראות וכל טוב!"),
    "found": ("Here is what I found:", "הנה מה שמצאתי:"),
    "from_leaflet": ("From the leaflet:", "מתוך העלון:"),
    "from_knowledge": ("From our knowledge base:", "מתוך מאגר הידע שלנו:"),
    "closest_knowledge": ("In our knowledge base this comes closest:", "במאגר הידע שלנו זה הקרוב ביותר:"),
    "stock": ("Stock:", "מלאי:"),
    "branches": ("Branches:", "סניפים:"),
    "hours": ("Opening hours:", "שעות פתיחה:"),
    "prices": ("Prices:", "מחירים:"),
    "listed": ("From our catalogue:", "מתוך הקטלוג שלנו:"),
    "prescriptions": ("From your prescriptions:", "מתוך המרשמים שלכם:"),
    "both": ("About each of them:", "על כל אחד מהם:"),
    "and_also": ("And also:", "ועוד:"),
    "can_tell": ("What I can tell you:", "מה שאפשר לומר:"),
    "not_on_file": ("I can't answer that from our data.", "על כך איני יכול לענות מתוך הנתונים שלנו."),
    "cannot_do": ("I can't do that in this chat.", "את זה איני יכול לעשות בצ׳אט הזה."),
    "cannot_judge": ("I can't judge that.", "את זה איני יכול לשפוט."),
    "ask_what": ("What would you like to know?", "מה תרצו לדעת?"),
    "ask_more": ("Could you tell me a little more about what you are looking for?", "אפשר לפרט קצת מה מחפשים?"),
    "ask_again": ("Could you put that in other words?", "אפשר לומר זאת במילים אחרות?"),
    "ask_medicine": ("Which medicine do you mean?", "לאיזו תרופה הכוונה?"),
    "ask_other_medicine": ("Which other medicine do you mean?", "לאיזו תרופה נוספת הכוונה?"),
    "ask_box": ("What does it say on the box?", "מה כתוב על הקופסה?"),
    "ask_strength": ("Which strength do you mean?", "לאיזה חוזק הכוונה?"),
    "ask_form": ("Which form do you mean, tablets or something else?", "באיזו צורה, טבליות או משהו אחר?"),
    "ask_which_one": ("Which one do you mean?", "לאיזה מהם הכוונה?"),
    "ask_this_one": ("Is this the one you mean?", "לזה הכוונה?"),
    "ask_branch": ("Which branch or town shall I look in?", "באיזה סניף או באיזו עיר לבדוק?"),
    "ask_day": ("Which day do you mean?", "לאיזה יום הכוונה?"),
    "ask_for_whom": ("Who is it for?", "בשביל מי זה?"),
    "ask_prescription": ("Which prescription do you mean?", "לאיזה מרשם הכוונה?"),
    "offer_stock": ("Shall I check where it is in stock?", "לבדוק איפה זה במלאי?"),
    "offer_other_branches": ("Shall I look in other branches?", "לבדוק בסניפים אחרים?"),
    "offer_same_ingredient": (
        "Shall I look for products with the same active ingredient?",
        "לחפש מוצרים עם אותו חומר פעיל?",
    ),
    "offer_interactions": ("Shall I look for interactions in our data?", "לחפש אינטראקציות בנתונים שלנו?"),
    "offer_leaflet": ("Shall I show you something from the leaflet?", "להציג לכם משהו מהעלון?"),
    "offer_price": ("Shall I look up the price?", "לבדוק את המחיר?"),
    "offer_hours": ("Would you like the opening hours?", "להציג את שעות הפתיחה?"),
    "offer_phone": ("Would you like a branch's phone number?", "להציג טלפון של סניף?"),
    "offer_prescriptions": ("Shall I look at your prescriptions?", "לבדוק את המרשמים שלכם?"),
    "offer_pharmacist": ("Shall I pass you on to a pharmacist?", "להעביר אתכם לרוקח או לרוקחת?"),
    "anything_else": ("Is there anything else?", "יש עוד משהו שתרצו לדעת?"),
}  # fmt: skip
OFFERS_PERSON: Final = "offer_pharmacist"
"""The question that hands the conversation to a pharmacist when the customer says yes."""
BEFORE_KINDS: Final[dict[str, tuple[str, ...]]] = {
    "from_leaflet": ("leaflet",),
    "from_knowledge": ("knowledge.answer",),
    "closest_knowledge": ("knowledge.answer",),
    "prices": ("price",),
    "hours": ("hours",),
    "stock": ("stock", "list", "near", "restock", "place"),
    "branches": ("branch", "address", "phone", "hours", "stock", "list", "near", "place"),
    "prescriptions": ("prescription", "refill", "last_filled", "supply", "valid_until", "issued"),
}
"""Announcements that say where the next fact comes from, and the beginnings of its kind."""


def sentence_named(name: str, language: Language) -> str:
    """Return the connecting sentence of this name."""
    return CONNECTING[name][0 if language == "en" else 1]


def name_of(text: str, language: Language) -> str:
    """Return the name of the connecting sentence that a text is, "" if it is none: a model repeats those of earlier answers."""
    return _names(language).get(tuple(words(text)), "")


@cache
def _names(language: Language) -> dict[tuple[str, ...], str]:
    return {tuple(words(sentence_named(name, language))): name for name in CONNECTING}
