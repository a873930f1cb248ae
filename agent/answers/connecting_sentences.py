"""The connecting sentences that a language model may name: name → (English, Hebrew). Data only.

"[ask_branch]" in a model's text becomes the sentence in the answer's language. None of them states anything. The names explain
themselves, because the prompt lists nothing but them.
"""

from typing import Final

CONNECTING: Final[dict[str, tuple[str, str]]] = {
    "hello": ("Hello!", "שלום!"),
    "thanks_for_asking": ("Thanks for asking.", "תודה על השאלה."),
    "thank_you": ("Thank you!", "תודה לכם!"),
    "goodbye": ("Goodbye, all the best!", "להתראות וכל טוב!"),
    "sorry_to_hear": ("I'm sorry to hear that.", "צר לי לשמוע."),
    "get_well": ("Get well soon!", "החלמה מהירה!"),
    "understand": ("I understand.", "מובן."),
    "apologise": ("Sorry about that.", "סליחה על כך."),
    "found": ("Here is what I found:", "הנה מה שמצאתי:"),
    "from_leaflet": ("From the leaflet:", "מתוך העלון:"),
    "stock": ("Stock:", "מלאי:"),
    "branches": ("Branches:", "סניפים:"),
    "hours": ("Opening hours:", "שעות פתיחה:"),
    "prices": ("Prices:", "מחירים:"),
    "listed": ("From our catalogue:", "מתוך הקטלוג שלנו:"),
    "prescriptions": ("From your prescriptions:", "מתוך המרשמים שלכם:"),
    "both": ("About each of them:", "על כל אחד מהם:"),
    "and_also": ("And also:", "ועוד:"),
    "not_on_file": ("I don't have that on file.", "אין לי מידע על כך."),
    "cannot_do": ("I can't do that in this chat.", "את זה איני יכול לעשות בצ׳אט הזה."),
    "cannot_judge": ("I can't judge that.", "את זה איני יכול לשפוט."),
    "ask_medicine": ("Which medicine do you mean?", "לאיזו תרופה הכוונה?"),
    "ask_strength": ("Which strength do you mean?", "לאיזה חוזק הכוונה?"),
    "ask_branch": ("Which branch or town shall I look in?", "באיזה סניף או באיזו עיר לבדוק?"),
    "ask_which_one": ("Which one do you mean?", "לאיזה מהם הכוונה?"),
    "ask_prescription": ("Which prescription do you mean?", "לאיזה מרשם הכוונה?"),
    "ask_more": ("Could you tell me a little more about what you are looking for?", "אפשר לפרט קצת מה מחפשים?"),
    "offer_stock": ("Shall I check where it is in stock?", "לבדוק איפה זה במלאי?"),
    "offer_other_branches": ("Shall I look in other branches?", "לבדוק בסניפים אחרים?"),
    "offer_same_ingredient": (
        "Shall I look for products with the same active ingredient?",
        "לחפש מוצרים עם אותו חומר פעיל?",
    ),
    "offer_leaflet": ("Would you like another part of the leaflet?", "להציג חלק אחר מהעלון?"),
    "offer_price": ("Shall I look up the price?", "לבדוק את המחיר?"),
    "offer_hours": ("Would you like the opening hours?", "להציג את שעות הפתיחה?"),
    "offer_prescriptions": ("Shall I look at your prescriptions?", "לבדוק את המרשמים שלכם?"),
    "anything_else": ("Is there anything else?", "יש עוד משהו שתרצו לדעת?"),
}  # fmt: skip
