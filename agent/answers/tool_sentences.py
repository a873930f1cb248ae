"""Sentences inside the tools' own results, English and Hebrew side by side.

S0 has no language: its error texts are the documents' English. S1 words messages, notes and pairs in the language that
the call names, S2 in the caller's. What the agent says to customers is in `agent/answers/sentences.py`.
"""

from typing import Final

TEXT: Final[dict[str, dict[str, str]]] = {
    # S0, word for word where the document gives the words
    "s0_name_empty": {"en": "Medication name cannot be empty"},
    "s0_no_match": {"en": "No medication found matching '{query}'"},
    "s0_ambiguous": {"en": "Multiple medications match '{query}'"},
    "s0_medication": {"en": "Medication '{query}' not found"},
    "s0_no_inventory": {"en": "No inventory record found for medication {medication} at store {store}"},
    "s0_nothing_asked": {"en": "Either medication_id or medication_name must be provided"},
    "s0_user": {"en": "User not found with identifier: {identifier}"},
    "s0_action": {"en": "Invalid action: '{action}'. Must be 'LIST' or 'REFILL_STATUS'"},
    "s0_prescription_missing": {"en": "prescription_id is required for REFILL_STATUS"},
    "s0_prescription": {"en": "Prescription {prescription} not found"},
    # Every family
    "unexpected": {
        "en": "The data cannot be read at the moment. Please try again later.",
        "he": "לא ניתן לקרוא את הנתונים כרגע. נסו שוב מאוחר יותר.",
    },
    "no_dosage": {
        "en": "No dosage text on file. Ask a pharmacist.",
        "he": "אין מידע על מינון במערכת. יש לשאול רוקח.",
    },
    "no_warnings": {
        "en": "No warnings text on file. Ask a pharmacist.",
        "he": "אין מידע על אזהרות במערכת. יש לשאול רוקח.",
    },
    "no_usage": {
        "en": "No usage text on file. Ask a pharmacist.",
        "he": "אין מידע על אופן השימוש במערכת. יש לשאול רוקח.",
    },
    # S1
    "med_not_found": {
        "en": "No medication found for '{query}'. Check the spelling, or give the brand or generic name.",
        "he": "לא נמצאה תרופה עבור '{query}'. בדקו את האיות, או ציינו את שם המותג או את השם הגנרי.",
    },
    "more_matches": {
        "en": "Only the first {count} matches are listed; name the form or strength.",
        "he": "מוצגות רק {count} ההתאמות הראשונות; ציינו צורה או חוזק.",
    },
    "no_equivalents": {
        "en": "No identical equivalent of {name} is on file. Pharmacy staff can help.",
        "he": "אין במערכת תחליף זהה ל-{name}. צוות בית המרקחת יוכל לעזור.",
    },
    "equivalence": {
        "en": "Equivalence is based on active ingredients, form and strength as disclosed; other differences may exist.",
        "he": "התחליפים נקבעים לפי חומרים פעילים, צורה וחוזק כמפורט; ייתכנו הבדלים אחרים.",
    },
    "pharmacist_only": {
        "en": "For this medication only a pharmacist decides about a substitution.",
        "he": "בתרופה זו רק רוקח מחליט על החלפה.",
    },
    "patient_not_found": {
        "en": "No patient has this number. Please verify the patient id.",
        "he": "לא נמצא מטופל עם מספר זה. יש לאמת את מספר המטופל.",
    },
    "otc": {"en": "No prescription is required.", "he": "לא נדרש מרשם."},
    "rx_none": {
        "en": "No prescription for this medication is on file.",
        "he": "אין במערכת מרשם לתרופה זו.",
    },
    "rx_no_refills": {"en": "No refills remaining.", "he": "לא נותרו ניפוקים."},
    "rx_expired": {
        "en": "The prescription is no longer valid; a doctor must issue a new one.",
        "he": "המרשם אינו בתוקף; נדרש מרשם חדש מרופא.",
    },
    "rx_cancelled": {
        "en": "The prescription was cancelled; a doctor must issue a new one.",
        "he": "המרשם בוטל; נדרש מרשם חדש מרופא.",
    },
    "rx_refill_pending": {"en": "A refill is already requested.", "he": "כבר הוגשה בקשה לניפוק."},
    "rx_unknown": {"en": "Staff must check this prescription.", "he": "הצוות צריך לבדוק מרשם זה."},
    "unknown_ids": {
        "en": "Interactions cannot be assessed for unknown items: {names}. Ask a pharmacist or a doctor.",
        "he": "לא ניתן לבדוק אינטראקציות עבור פריטים לא מוכרים: {names}. יש לשאול רוקח או רופא.",
    },
    "unassessed": {
        "en": "Not assessed for interactions: {names}. Ask a pharmacist or a doctor.",
        "he": "לא נבדקו לאינטראקציות: {names}. יש לשאול רוקח או רופא.",
    },
    "pair_avoid": {
        "en": "{a} and {b} cannot be taken together according to our data. Speak to a pharmacist or doctor before "
        "taking them together or changing any treatment.",
        "he": "לפי הנתונים שלנו אין ליטול את {a} ואת {b} יחד. יש לפנות לרוקח או לרופא לפני נטילה משותפת או שינוי "
        "כלשהו בטיפול.",
    },
    "pair_caution": {
        "en": "Our data lists an interaction between {a} and {b} that calls for caution. Speak to a pharmacist or "
        "doctor before taking them together.",
        "he": "לפי הנתונים שלנו יש בין {a} לבין {b} אינטראקציה שמחייבת זהירות. יש לפנות לרוקח או לרופא לפני נטילה "
        "משותפת.",
    },
    "pair_same": {
        "en": "{a} and {b} both contain {ingredients}. Speak to a pharmacist or doctor before taking them together.",
        "he": "{a} וגם {b} מכילים {ingredients}. יש לפנות לרוקח או לרופא לפני נטילה משותפת.",
    },
    "none_listed": {
        "en": "Our data lists no interaction; that does not mean it is safe.",
        "he": "בנתונים שלנו לא רשומה אינטראקציה; אין פירוש הדבר שהשילוב בטוח.",
    },
    # S2
    "city_not_served": {"en": "We don’t have stores in {city}.", "he": "אין לנו סניפים ב{city}."},
}


def tool_text(key: str, language: str = "en", /, **values: object) -> str:
    """Return the sentence in this language; values are put in as they are, whatever marks they hold."""
    row = TEXT[key]
    return row.get(language, row["en"]).format(**values)
