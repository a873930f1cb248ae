"""Say in both languages what the codes of a request mean: to the staff who read it. Pure.

Reasons are in `prescriptions.refill.wording`, which customers' and staff's notes use.
"""

from collections.abc import Mapping
from typing import Final, Literal

from pharmacy_site.lib.text import Language

Kind = Literal[
    "state", "event", "check", "level", "evidence", "why", "action", "thought", "status", "seen", "value"
]
_Words = Mapping[str, tuple[str, str]]

_STATES: Final[_Words] = {
    "Collect_Refill_Request": ("request received", "הבקשה התקבלה"),
    "Rx_Safety_Check": ("safety checks", "בדיקות בטיחות"),
    "Backend_Check": ("stock and order", "מלאי והזמנה"),
    "PA_Approval_Needed": ("looking for who decides", "חיפוש מי מחליט"),
    "Escalate_Handoff": ("handing over", "העברה לאדם"),
    "Refill_Dispensed": ("dispensed", "נופק"),
    "Escalation_Complete": ("waits for a decision", "ממתינה להחלטה"),
}
_EVENTS: Final[_Words] = {
    "submitted": ("submitted", "הוגשה"),
    "confirmed": ("confirmed", "אושרה בידי המבקש"),
    "safe": ("checks passed", "הבדיקות עברו"),
    "escalated": ("sent to a person", "הועברה לאדם"),
    "dispensed": ("dispensed", "נופק"),
    "contact_chosen": ("contact chosen", "נבחר איש קשר"),
    "handed_off": ("handed over", "הועברה"),
    "approved": ("approved", "אושרה"),
    "asked": ("the customer was asked", "נשאלה שאלה"),
    "answered": ("the customer answered", "התקבלה תשובה"),
    "deny": ("denied", "נדחתה"),
    "close": ("closed", "נסגרה"),
    "cancelled": ("cancelled", "בוטלה"),
    "order_sent": ("order sent", "ההזמנה נשלחה"),
    "order_unknown": ("no answer to the order", "אין תשובה על ההזמנה"),
    "ready": ("ready", "מוכן"),
    "collected": ("collected", "נאסף"),
    "returned": ("returned", "הוחזר"),
}
_CHECKS: Final[_Words] = {
    "prescription": ("prescription", "מרשם"),
    "allergy": ("allergies", "אלרגיות"),
    "interactions": ("interactions", "תגובות בין-תרופתיות"),
    "duplicate": ("duplicate therapy", "כפל טיפול"),
    "quantity": ("quantity and dose", "כמות ומינון"),
    "labs": ("laboratory values", "תוצאות מעבדה"),
    "early": ("time since the last fill", "הזמן מהניפוק הקודם"),
    "age": ("age", "גיל"),
    "schedule": ("controlled medicine", "תרופה מפוקחת"),
    "antibiotic": ("antibiotic for an acute illness", "אנטיביוטיקה למחלה חריפה"),
    "coverage": ("insurance", "כיסוי ביטוחי"),
    "collection": ("the request itself", "הבקשה עצמה"),
    "stock": ("stock", "מלאי"),
    "order": ("order", "הזמנה"),
    "health_record": ("health record", "תיק רפואי"),
    "facts": ("facts", "נתונים"),
}
_LEVELS: Final[_Words] = {
    "pass": ("passed", "עבר"),
    "warn": ("warning", "אזהרה"),
    "block": ("stops", "עוצר"),
    "unknown": ("unknown", "לא ידוע"),
    "avoid": ("not together", "לא יחד"),
    "caution": ("with caution", "בזהירות"),
}
_EVIDENCE: Final[_Words] = {
    "refills_left": ("refills left", "ניפוקים שנותרו"),
    "related": ("related class", "קבוצה קרובה"),
    "ingredient": ("ingredient", "חומר פעיל"),
    "class": ("class", "קבוצה"),
    "medication": ("with", "עם"),
    "same_class": ("same class as", "אותה קבוצה כמו"),
    "most_units": ("at most (units)", "לכל היותר (יחידות)"),
    "most_days": ("at most (days)", "לכל היותר (ימים)"),
    "code": ("laboratory test", "בדיקת מעבדה"),
    "possible_from": ("possible from", "אפשרי החל מ"),
    "minimum": ("minimum age", "גיל מזערי"),
    "maximum": ("maximum age", "גיל מרבי"),
    "schedule": ("schedule", "דרגת פיקוח"),
    "store": ("store", "סניף"),
    "packs": ("packs needed", "אריזות נדרשות"),
    "why": ("why", "סיבה"),
}
_WHYS: Final[_Words] = {
    "not_active": ("not in force", "לא בתוקף"),
    "no_refills": ("no refill left", "לא נותרו ניפוקים"),
    "unassessed": ("cannot be compared", "אי אפשר להשוות"),
    "never_asked": ("never asked", "לא נשאלו"),
    "not_on_file": ("not on file", "לא רשום"),
    "more_than_prescribed": ("more than prescribed", "יותר מהרשום במרשם"),
    "dose": ("more a day than prescribed", "יותר ליום מהרשום במרשם"),
    "missing": ("missing", "חסר"),
    "too_old": ("too old", "ישן מדי"),
    "low": ("too low", "נמוך מדי"),
    "high": ("too high", "גבוה מדי"),
    "no_rule": ("no rule for this schedule", "אין כלל לדרגת פיקוח זו"),
    "new_prescription": ("a new prescription is needed", "נדרש מרשם חדש"),
    "error": ("error", "שגיאה"),
}
_ACTIONS: Final[_Words] = {
    "reason": ("look at the reason", "עיון בסיבה"),
    "roles": ("look at the roles", "עיון בתפקידים"),
    "branch": ("look at the branch", "עיון בסניף"),
    "working_hours": ("look at the opening hours", "עיון בשעות הפתיחה"),
    "on_call": ("look at the on-call roster", "עיון בתורנות"),
    "choose": ("choose", "בחירה"),
    "check": ("check by rules", "בדיקה לפי כללים"),
}
_THOUGHTS: Final[_Words] = {
    "why_a_person": ("Why does a person decide?", "מדוע אדם מחליט?"),
    "who_may_decide": ("Which role may decide this?", "איזה תפקיד רשאי להחליט?"),
    "where_it_is_picked_up": ("Where is it picked up?", "היכן אוספים?"),
    "whether_it_is_open": ("Is it open there now?", "האם פתוח שם כעת?"),
    "who_is_on_call": ("Who of this role is on call there?", "מי תורן או תורנית שם בתפקיד זה?"),
    "first_on_call": ("The first on call decides.", "הראשון או הראשונה בתורנות מחליטים."),
    "nobody_on_call": ("Nobody is on call: whoever of the role comes first.", "אין תורן: מי שבתפקיד ומתפנה ראשון."),
    "proposal_refused": ("The model's proposal was refused; the rules go on.", "הצעת המודל נדחתה; ממשיכים לפי כללים."),
    "model_failed": ("The model gave no usable answer; the rules go on.", "המודל לא נתן תשובה שמישה; ממשיכים לפי כללים."),
}  # fmt: skip
_SEEN: Final[_Words] = {
    "reason": ("reason", "סיבה"),
    "findings": ("findings", "ממצאים"),
    "check": ("check", "בדיקה"),
    "level": ("result", "תוצאה"),
    "decided_by": ("decided by", "מחליטים"),
    "roles": ("roles", "תפקידים"),
    "role": ("role", "תפקיד"),
    "why": ("why", "מדוע"),
    "branch": ("branch", "סניף"),
    "is_delivery": ("delivery", "משלוח"),
    "is_open": ("open now", "פתוח כעת"),
    "changes_at": ("until", "עד"),
    "people": ("on call", "תורנים"),
    "person": ("person", "אדם"),
    "until": ("until", "עד"),
    "made_the_request": ("made the request", "הגישו את הבקשה"),
    "refused": ("refused", "נדחה"),
    "failed": ("failed", "נכשל"),
    "error": ("error", "שגיאה"),
}
_VALUES: Final[_Words] = {
    "system:refills": ("automatic", "אוטומטי"),
    "system": ("automatic", "אוטומטי"),
    "True": ("yes", "כן"),
    "False": ("no", "לא"),
    "pharmacist": ("pharmacist", "רוקח או רוקחת"),
    "physician": ("physician", "רופא או רופאה"),
    "role_not_allowed": ("this role may not decide it", "התפקיד אינו רשאי להחליט"),
    "person_not_on_call": ("this person is not on call for it", "האדם אינו תורן לבקשה זו"),
    "somebody_is_on_call": ("somebody is on call and was not chosen", "יש תורן או תורנית שלא נבחרו"),
    "too_many_steps": ("too many steps", "יותר מדי צעדים"),
    "no_action": ("no action", "אין פעולה"),
    "timeout": ("no answer in time", "אין תשובה בזמן"),
    "unknown_action": ("no such action", "אין פעולה כזו"),
    "no_such_branch": ("no such branch", "אין סניף כזה"),
    "role_and_branch_needed": ("role and branch are missing", "חסרים תפקיד וסניף"),
    "schedule_III": ("schedule III", "דרגת פיקוח III"),
    "schedule_IV": ("schedule IV", "דרגת פיקוח IV"),
    "schedule_V": ("schedule V", "דרגת פיקוח V"),
    "schedule_II": ("schedule II", "דרגת פיקוח II"),
}
_STATUSES: Final[_Words] = {
    "waiting": ("waits for a decision", "ממתינה להחלטה"),
    "preparing": ("in preparation", "בהכנה"),
    "ready": ("ready", "מוכן"),
    "collected": ("collected", "נאסף"),
    "returned": ("returned", "הוחזר"),
    "dispensed": ("dispensed", "נופק"),
    "denied": ("denied", "נדחתה"),
    "cancelled": ("cancelled", "בוטלה"),
    "closed": ("closed", "נסגרה"),
}
_KINDS: Final[Mapping[Kind, _Words]] = {
    "state": _STATES,
    "event": _EVENTS,
    "check": _CHECKS,
    "level": _LEVELS,
    "evidence": _EVIDENCE,
    "why": _WHYS,
    "action": _ACTIONS,
    "thought": _THOUGHTS,
    "status": _STATUSES,
    "seen": _SEEN,
    "value": _VALUES,
}


def staff_word(kind: Kind, code: str, language: Language) -> str:
    """Return what a code means; a code that is none is returned as it is, so that staff still see it."""
    words = _KINDS[kind].get(code)
    return words[language == "he"] if words else code
