"""Word the e-mails to patients, in English and Hebrew."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from prescriptions.masking import MASK

_MINUTES: Final = 60


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
            "Wrong codes were entered for your pharmacy account",
            "Somebody asked for a code for your pharmacy account and entered wrong codes. "
            "Nothing was shown to them.\n\n"
            "If it was not you, please tell the pharmacy.",
        ),
        "he": Notice(
            "הוזנו קודים שגויים עבור החשבון שלך בבית המרקחת",
            "מישהו ביקש קוד עבור החשבון שלך בבית המרקחת והזין קודים שגויים. שום פרט לא הוצג לו.\n\n"
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
}


def notice(kind: str, language: str, context: Mapping[str, str], *, ttl: int) -> Notice:
    """Return an e-mail in the reader's language; a code that is no longer stored is shown masked."""
    text = _NOTICES[kind][language]
    values = {
        "number": "",
        "whom": "",
        **context,
        "code": context.get("code", MASK),
        "minutes": ttl // _MINUTES,
    }
    return Notice(text.subject, text.body.format(**values))
