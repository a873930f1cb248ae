"""Word the e-mails to patients and to staff, in English and Hebrew."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from prescriptions.masking import MASK

_MINUTES: Final = 60
_URGENT: Final = {"en": "URGENT: ", "he": "דחוף: "}
_REPEATED: Final = {"en": "Sent again: {subject}", "he": "נשלח שוב: {subject}"}


@dataclass(frozen=True)
class Notice:
    """Subject and body of one e-mail."""

    subject: str
    body: str


_NOTICES: Final[Mapping[str, Mapping[str, Notice]]] = {
    "identity_code": {
        "en": Notice(
            "Your pharmacy code",
            "Your code is {code}. It works once, within {minutes} minutes.\n\n"
            "Nobody from the pharmacy will ask you for it by phone. "
            "If you did not ask for a code, ignore this message.",
        ),
        "he": Notice(
            "הקוד שלך מבית המרקחת",
            "הקוד שלך הוא {code}. הוא תקף לשימוש אחד בתוך {minutes} דקות.\n\n"
            "איש מבית המרקחת לא יבקש אותו בטלפון. אם לא ביקשת קוד, אפשר להתעלם מההודעה.",
        ),
    },
    "identity_warning": {
        "en": Notice(
            "Somebody failed to sign in to your pharmacy account",
            "Somebody named your pharmacy account and entered wrong codes or dates of birth. "
            "Nothing was shown to them.\n\n"
            "If it was not you, please tell the pharmacy.",
        ),
        "he": Notice(
            "ניסיון זיהוי כושל בחשבון שלך בבית המרקחת",
            "מישהו ציין את החשבון שלך בבית המרקחת והזין קודים או תאריכי לידה שגויים. שום פרט לא הוצג לו.\n\n"
            "אם לא היית זה את או אתה, נא לעדכן את בית המרקחת.",
        ),
    },
    # Who reads over a shoulder learns no medicine from these.
    "refill_dispensed": {
        "en": Notice(
            "Your refill request was approved",
            "Your refill request {number} was approved and sent for preparation. "
            "A pharmacist checks it before it is handed over.",
        ),
        "he": Notice(
            "בקשת הניפוק שלך אושרה",
            "בקשת הניפוק {number} אושרה ונשלחה להכנה. רוקח או רוקחת בודקים אותה לפני המסירה.",
        ),
    },
    "refill_denied": {
        "en": Notice(
            "Your refill request was not approved",
            "Your refill request {number} was not approved. Please speak to {whom}.",
        ),
        "he": Notice(
            "בקשת הניפוק שלך לא אושרה",
            "בקשת הניפוק {number} לא אושרה. נא לפנות אל {whom}.",
        ),
    },
    "refill_question": {
        "en": Notice(
            "The pharmacy has a question about your refill request",
            "The pharmacy has a question about your refill request {number}. "
            "Please contact the pharmacy, or open the chat and sign in.",
        ),
        "he": Notice(
            "לבית המרקחת יש שאלה לגבי בקשת הניפוק שלך",
            "לבית המרקחת יש שאלה לגבי בקשת הניפוק {number}. נא ליצור קשר עם בית המרקחת, או להיכנס לצ'אט ולהזדהות.",
        ),
    },
    "refill_ready": {
        "en": Notice("Your refill is ready", "Your refill {number} is ready."),
        "he": Notice("הניפוק שלך מוכן", "הניפוק {number} מוכן."),
    },
    # To staff: no patient and no medicine.
    "handoff_opened": {
        "en": Notice(
            "{mark}Hand-off {number} waits: {reason}", "Hand-off {number} waits: {reason}.\n\n{link}"
        ),
        "he": Notice("{mark}פנייה {number} ממתינה: {reason}", "פנייה {number} ממתינה: {reason}.\n\n{link}"),
    },
    "handoff_reminder": {
        "en": Notice(
            "{mark}Reminder: hand-off {number} still waits",
            "Half of the time for hand-off {number} ({reason}) is over, and it still waits.\n\n{link}",
        ),
        "he": Notice(
            "{mark}תזכורת: פנייה {number} עדיין ממתינה",
            "חלפה מחצית הזמן לטיפול בפנייה {number} ({reason}), והיא עדיין ממתינה.\n\n{link}",
        ),
    },
    "handoff_raised": {
        "en": Notice(
            "{mark}Overdue: hand-off {number}",
            "The time for hand-off {number} ({reason}) is over. It was passed to you as well.\n\n{link}",
        ),
        "he": Notice(
            "{mark}באיחור: פנייה {number}",
            "הזמן לטיפול בפנייה {number} ({reason}) חלף. היא הועברה גם אליך.\n\n{link}",
        ),
    },
    "handoff_answered": {
        "en": Notice(
            "{mark}The customer answered: hand-off {number}",
            "The customer answered your question about hand-off {number} ({reason}).\n\n{link}",
        ),
        "he": Notice(
            "{mark}התקבלה תשובה: פנייה {number}",
            "התקבלה תשובה לשאלה שלך לגבי פנייה {number} ({reason}).\n\n{link}",
        ),
    },
    # To customers.
    "staff_replied": {
        "en": Notice(
            "The pharmacy has written to you",
            "The pharmacy has written to you about {number}. Open the chat to read it; you may have to identify yourself there.\n\n{link}",
        ),
        "he": Notice(
            "בית המרקחת כתב לך",
            "בית המרקחת כתב לך בעניין פנייה {number}. כדי לקרוא, אפשר לפתוח את הצ'אט; ייתכן שיהיה צורך להזדהות שם.\n\n{link}",
        ),
    },
    "handoff_settled": {
        "en": Notice(
            "The pharmacy has dealt with your request",
            "There is news about {number}. Open the chat to read it; you may have to identify yourself there.\n\n{link}",
        ),
        "he": Notice(
            "יש עדכון לגבי הפנייה שלך",
            "יש עדכון לגבי פנייה {number}. כדי לקרוא, אפשר לפתוח את הצ'אט; ייתכן שיהיה צורך להזדהות שם.\n\n{link}",
        ),
    },
}


def notice(kind: str, language: str, context: Mapping[str, str], *, ttl: int) -> Notice:
    """Return an e-mail in the reader's language; a code that is no longer stored is shown masked."""
    text = _NOTICES[kind][language]
    values = {
        "number": "",
        "whom": "",
        "reason": "",
        "link": "",
        **context,
        "code": context.get("code", MASK),
        "minutes": ttl // _MINUTES,
    }
    values["mark"] = _URGENT[language] if context.get("urgent") else ""
    return Notice(text.subject.format(**values), text.body.format(**values))


def repeated(text: Notice, language: str) -> Notice:
    """Return an e-mail that may have arrived before, with a subject that says so."""
    return Notice(_REPEATED[language].format(subject=text.subject), text.body)
