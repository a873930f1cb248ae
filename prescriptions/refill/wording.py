"""Say in both languages what happened to a refill: to customers, and to the person who decides. Pure.

A status is what `prescriptions.refill.selectors.status_of` returns. No sentence names a medicine: the caller does,
where the reader may see it.
"""

from collections.abc import Mapping
from typing import Final

from pharmacy_site.lib.text import Language

_STATUS: Final[Mapping[str, tuple[str, str]]] = {
    "collecting": (
        "Refill {number} is not requested yet: it waits for your confirmation.",
        "הניפוק {number} עוד לא נשלח: הוא מחכה לאישור שלך.",
    ),
    "paused": (
        "Your refill {number} is paused. Nothing was lost; you can go on from the same point.",
        "בקשת הניפוק {number} הושהתה. דבר לא אבד, ואפשר להמשיך מאותה נקודה.",
    ),
    "received": ("Your refill request {number} was received and is being checked.", "בקשת הניפוק {number} התקבלה ונבדקת."),
    "being_sent": ("Your refill request {number} is being passed on for preparation.", "בקשת הניפוק {number} מועברת להכנה."),
    "held": (
        "Your refill request {number} waits: the pharmacy passes no refills on for preparation at the moment. It goes on by itself.",
        "בקשת הניפוק {number} ממתינה: כרגע בית המרקחת אינו מעביר ניפוקים להכנה. היא תמשיך מעצמה.",
    ),
    "with_person": ("Your refill request {number} is with {whom}. You will hear from us.", "בקשת הניפוק {number} הועברה אל {whom}. נעדכן אותך."),
    "new_prescription": (
        "Your refill request {number} cannot be refilled: your doctor must issue a new prescription. It is with {whom}.",
        "אי אפשר לנפק לפי בקשה {number}: צריך מרשם חדש מהרופא או מהרופאה. הבקשה הועברה אל {whom}.",
    ),
    "controlled_new_prescription": (
        "Refill request {number}: this is a controlled medicine, and your doctor must issue a new prescription. It is with {whom}.",
        "בקשת ניפוק {number}: זו תרופה מפוקחת, וצריך מרשם חדש מהרופא או מהרופאה. הבקשה הועברה אל {whom}.",
    ),
    "early": (
        "Your refill request {number} is early: a refill is possible from {date}. It is with {whom}.",
        "בקשת הניפוק {number} מוקדמת: אפשר לנפק החל מ-{date}. הבקשה הועברה אל {whom}.",
    ),
    "out_of_stock": (
        "For your refill request {number} there is not enough in stock there. It is with {whom}.",
        "אין די מלאי שם לבקשת הניפוק {number}. הבקשה הועברה אל {whom}.",
    ),
    "preparing": (
        "Your refill {number} was approved and sent for preparation. A pharmacist checks it before it is handed over.",
        "הניפוק {number} אושר ונשלח להכנה. רוקח או רוקחת בודקים אותו לפני המסירה.",
    ),
    "ready": ("Your refill {number} is ready to be collected: {where}.", "הניפוק {number} מוכן לאיסוף: {where}."),
    "ready_delivery": ("Your refill {number} is ready for delivery.", "הניפוק {number} מוכן למשלוח."),
    "collected": ("Your refill {number} was collected.", "הניפוק {number} נאסף."),
    "returned": ("Your refill {number} was not collected and was put back.", "הניפוק {number} לא נאסף והוחזר."),
    "denied": ("Your refill request {number} was not approved. Please speak to {whom}.", "בקשת הניפוק {number} לא אושרה. נא לפנות אל {whom}."),
    "cancelled": ("Your refill request {number} was cancelled.", "בקשת הניפוק {number} בוטלה."),
    "closed": ("Your refill request {number} was closed. Please speak to {whom}.", "בקשת הניפוק {number} נסגרה. נא לפנות אל {whom}."),
}  # fmt: skip

_CONTACTS: Final[Mapping[str, tuple[str, str]]] = {
    "pharmacist": ("a pharmacist", "רוקח או רוקחת"),
    "physician": ("a physician", "רופא או רופאה"),
}

_REASONS: Final[Mapping[str, tuple[str, str]]] = {
    "low_confidence": ("the request was not understood with certainty", "הבקשה לא הובנה בוודאות"),
    "identity_failed": ("the identity was not confirmed", "הזהות לא אומתה"),
    "major_interaction": ("a listed pair that must not be taken together", "צירוף רשום שאסור ליטול יחד"),
    "direct_allergy": ("an allergy on record to an ingredient or its class", "אלרגיה רשומה לחומר פעיל או לקבוצה שלו"),
    "controlled_substance": ("a controlled medicine", "תרופה מפוקחת"),
    "backend_unavailable": ("the health record or the dispenser did not answer", "התיק הרפואי או מערכת הניפוק לא ענו"),
    "max_attempts": ("three turns without a result", "שלושה ניסיונות ללא תוצאה"),
    "allergy_unknown": ("allergies were never asked, or cannot be compared", "האלרגיות לא נשאלו, או שאי אפשר להשוות אותן"),
    "related_allergy": ("an allergy on record to a related class", "אלרגיה רשומה לקבוצה קרובה"),
    "not_refillable": ("the prescription has no refill in force", "אין במרשם ניפוק בתוקף"),
    "interaction_unknown": ("interactions were not assessed for an ingredient", "תגובות בין-תרופתיות של חומר פעיל לא נבדקו"),
    "duplicate_therapy": ("another prescription has the same ingredient", "מרשם אחר כולל אותו חומר פעיל"),
    "quantity": ("quantity or days of supply outside the limits", "כמות או ימי טיפול מחוץ לגבולות"),
    "labs": ("a laboratory value is missing, old or outside its limits", "תוצאת מעבדה חסרה, ישנה או חורגת"),
    "age": ("the age is outside the limits", "הגיל מחוץ לגבולות"),
    "acute_antibiotic": ("an antibiotic for an acute illness", "אנטיביוטיקה למחלה חריפה"),
    "prior_authorisation": ("the insurer must authorise it first", "נדרש אישור מוקדם של המבטח"),
    "early": ("the last supply is not used up", "המנה הקודמת עוד לא נוצלה"),
    "out_of_stock": ("not enough in stock where it is picked up", "אין די מלאי בנקודת האיסוף"),
    "order_refused": ("the dispenser refused the order", "מערכת הניפוק סירבה להזמנה"),
    "order_unknown": ("it is unknown whether the dispenser carried the order out", "לא ידוע אם מערכת הניפוק ביצעה את ההזמנה"),
    "check_failed": ("a check could not be computed", "בדיקה לא הושלמה"),
}  # fmt: skip

_NOTE: Final = (
    "Refill request {number} waits for {whom}: {reasons}. Please decide: approve, deny, ask, or change the quantity.",
    "בקשת ניפוק {number} ממתינה אל {whom}: {reasons}. נא להחליט: לאשר, לדחות, לשאול או לשנות את הכמות.",
)


def status_text(
    status: str, language: Language, *, number: str, contact: str = "", date: str = "", where: str = ""
) -> str:
    """Return what a customer reads about a request."""
    text = _STATUS[status][language == "he"]
    return text.format(number=number, whom=contact_name(contact, language), date=date, where=where)


def question_text(question: str, contact: str, language: Language) -> str:
    """Return how a customer reads what the person who decides asks them."""
    asks = ("{whom} asks: {question}", "{whom}, שאלה אליך: {question}")[language == "he"]
    text = asks.format(whom=contact_name(contact, language), question=question)
    return text[:1].upper() + text[1:]


def contact_name(contact: str, language: Language) -> str:
    """Return a role as a customer reads it; without one, a pharmacist."""
    return _CONTACTS.get(contact, _CONTACTS["pharmacist"])[language == "he"]


def reason_text(reason: str, language: Language) -> str:
    """Return a reason as staff read it; "" for a code that is none."""
    return _REASONS.get(reason, ("", ""))[language == "he"]


def staff_note(number: str, contact: str, reasons: list[str], language: Language) -> str:
    """Return the drafted note to the person who decides."""
    named = "; ".join(_REASONS[reason][language == "he"] for reason in reasons)
    return _NOTE[language == "he"].format(number=number, whom=contact_name(contact, language), reasons=named)
