"""The sentences of emergencies: key → (English, Hebrew), and the number in further languages. Data only."""

from typing import Final

EMERGENCY_SENTENCES: Final[dict[str, tuple[str, str]]] = {
    "emergency_MEDICAL": (
        "This sounds like an emergency. Call an ambulance now: {medical}.",
        "זה נשמע כמו מצב חירום. התקשרו עכשיו למד״א: {medical}.",
    ),
    "emergency_POISONING": (
        "Too much of a medicine, or something harmful swallowed, breathed in or in the eyes, is an emergency. Call {medical} now, also if there are no signs yet.",
        "נטילת יתר, או חומר מסוכן שנבלע, נשאף או חדר לעיניים, הם מצב חירום. התקשרו עכשיו ל-{medical}, גם אם אין עדיין סימנים.",
    ),
    "emergency_POISONING_CENTRE": (
        "Too much of a medicine, or something harmful swallowed, breathed in or in the eyes, is an emergency. Call the poison centre now: {poison}, "
        "also if there are no signs yet. Whoever is unconscious, shaking or breathing badly needs {medical}.",
        "נטילת יתר, או חומר מסוכן שנבלע, נשאף או חדר לעיניים, הם מצב חירום. התקשרו עכשיו למרכז להרעלות: {poison}, גם אם אין עדיין סימנים. "
        "בחוסר הכרה, בפרכוסים או בקשיי נשימה: {medical}.",
    ),
    "emergency_SELF_HARM": (
        "You don't have to be alone with this. Please call now: ERAN, {crisis}, where somebody listens at any hour, or an ambulance, {medical}.",
        "לא חייבים להישאר עם זה לבד. נא להתקשר עכשיו: לער״ן, {crisis}, שם מקשיבים בכל שעה, או למד״א, {medical}.",
    ),
    "emergency_EXTRA_DOSE": (
        "Please speak to a pharmacist or doctor right away about the extra dose; {medical} answers at any hour. With any sign (drowsy, confused, shaking, a racing heart, hard to breathe) call {medical} first, now.",
        "נא לפנות מיד לרוקח או לרופא בנוגע למנה הנוספת; גם ב-{medical} עונים בכל שעה. עם סימן כלשהו (ישנוניות, בלבול, רעד, דופק מהיר, קושי לנשום) קודם כול {medical}, עכשיו.",
    ),
    "emergency_EXTRA_DOSE_CENTRE": (
        "Please speak to the poison centre, {poison}, a pharmacist or a doctor right away about the extra dose; {medical} answers at any hour. With any sign (drowsy, confused, shaking, a racing heart, hard to breathe) call {medical} first, now.",
        "נא לפנות מיד למרכז להרעלות, {poison}, לרוקח או לרופא בנוגע למנה הנוספת; גם ב-{medical} עונים בכל שעה. עם סימן כלשהו (ישנוניות, בלבול, רעד, דופק מהיר, קושי לנשום) קודם כול {medical}, עכשיו.",
    ),
    "emergency_ADVERSE": (
        "Please speak to a pharmacist or doctor now about this; {medical} answers at any hour. If breathing is hard, the face or throat swells, the skin or mouth blisters, or somebody bleeds, is confused or faints, call {medical} first.",
        "נא לדבר עכשיו עם רוקח או רופא על כך; גם ב-{medical} עונים בכל שעה. אם קשה לנשום, אם הפנים או הגרון מתנפחים, אם יש שלפוחיות בעור או בפה, או אם מישהו מדמם, מבולבל או מתעלף, קודם כול {medical}.",
    ),
    "emergency_person": ("Shall I pass you on to a pharmacist?", "להעביר אתכם לרוקח או לרוקחת?"),
    # The first line of each answer while an emergency is open.
    "emergency_line_MEDICAL": ("Emergency: call {medical}.", "מצב חירום: התקשרו ל-{medical}."),
    "emergency_line_POISONING": (
        "Emergency: call {medical}, also if there are no signs yet.",
        "מצב חירום: התקשרו ל-{medical}, גם אם אין עדיין סימנים.",
    ),
    "emergency_line_POISONING_CENTRE": (
        "Emergency: call the poison centre, {poison}; in danger of life {medical}.",
        "מצב חירום: המרכז להרעלות, {poison}; בסכנת חיים {medical}.",
    ),
    "emergency_line_SELF_HARM": (
        "You are not alone. Please call: ERAN, {crisis}, at any hour, or an ambulance, {medical}.",
        "אתם לא לבד. נא להתקשר: לער״ן, {crisis}, בכל שעה, או למד״א, {medical}.",
    ),
    "emergency_line_EXTRA_DOSE": (
        "About the extra dose please speak to a pharmacist, a doctor or {medical} now; with any sign, {medical} first.",
        "בנוגע למנה הנוספת נא לדבר עכשיו עם רוקח, רופא או מד״א, {medical}; עם סימן כלשהו, קודם כול {medical}.",
    ),
    "emergency_line_EXTRA_DOSE_CENTRE": (
        "About the extra dose please speak to the poison centre, {poison}, a pharmacist, a doctor or {medical} now; with any sign, {medical} first.",
        "בנוגע למנה הנוספת נא לדבר עכשיו עם המרכז להרעלות, {poison}, רוקח, רופא או מד״א, {medical}; עם סימן כלשהו, קודם כול {medical}.",
    ),
    "emergency_line_ADVERSE": (
        "About the reaction please speak to a pharmacist, a doctor or {medical} now; {medical} first if breathing is hard, the face swells, the skin or mouth blisters, or somebody bleeds, is confused or faints.",
        "בנוגע לתגובה נא לדבר עכשיו עם רוקח, רופא או מד״א, {medical}; קודם כול {medical} אם קשה לנשום, אם הפנים מתנפחים, אם יש שלפוחיות בעור או בפה, או אם מישהו מדמם, מבולבל או מתעלף.",
    ),
    "emergency_held": (
        "Until this is over I give no information on medicines here. Phones and opening hours of branches I can give, and "
        "a pharmacist can take over. When it is over, please press the button below.",
        "עד שזה מאחורינו איני מוסר כאן מידע על תרופות. טלפונים ושעות פתיחה של סניפים אפשר לקבל, ורוקח או רוקחת יכולים "
        "להמשיך מכאן. כשזה נגמר, נא ללחוץ על הכפתור למטה.",
    ),
    "emergency_ended": (
        "Good to hear that. If anything gets worse, call {medical}. You can ask me as usual again.",
        "טוב לשמוע. אם משהו מחמיר, התקשרו ל-{medical}. אפשר שוב לשאול אותי כרגיל.",
    ),
    "emergency_after_over": (
        "Is the danger over, and is everybody well? Then press the button below or write “yes”. If not, please call {number}.",
        "האם הסכנה חלפה וכולם בסדר? אם כן, נא ללחוץ על הכפתור למטה או לכתוב ״כן״. אם לא, נא להתקשר ל-{number}.",
    ),
    "emergency_after_over_SELF_HARM": (
        "Are you safe now? Then press the button below or write “yes”. If not, somebody listens at {number} at any hour.",
        "האם אתם במקום בטוח עכשיו? אם כן, נא ללחוץ על הכפתור למטה או לכתוב ״כן״. אם לא, ב-{number} יש מי שמקשיב בכל שעה.",
    ),
    "emergency_after_coming": (
        "If help is on its way or there, please do what they say. If nobody has called yet, or nobody comes, call {number} now. "
        "When it is over, please press the button below.",
        "אם העזרה בדרך או כבר שם, נא לעשות מה שאומרים שם. אם עדיין לא התקשרו, או שאיש לא מגיע, התקשרו עכשיו ל-{number}. "
        "כשזה ייגמר, נא ללחוץ על הכפתור למטה.",
    ),
    "emergency_after_vomit": (
        "What to give, and what not to do, can only be said by {number}. Please ask them before doing anything.",
        "מה לתת ומה לא לעשות יכולים לומר רק ב-{number}. נא לשאול אותם לפני כל דבר.",
    ),
    "emergency_after_wait": (
        "I can't judge whether it can wait. {number} can, at any hour: please ask them now.",
        "איני יכול לשפוט אם אפשר לחכות. ב-{number} יכולים, בכל שעה: נא לשאול אותם עכשיו.",
    ),
    "emergency_after_fine": (
        "I can't judge that from here, and signs may come later. Please ask {number} all the same.",
        "מכאן איני יכול לשפוט, וסימנים עלולים להופיע מאוחר יותר. נא לשאול בכל זאת ב-{number}.",
    ),
    "emergency_after_forget": (
        "If anybody may be in danger, please call {number} all the same. If nobody is, please press the button below.",
        "אם מישהו אולי בסכנה, נא להתקשר בכל זאת ל-{number}. אם אף אחד לא, נא ללחוץ על הכפתור למטה.",
    ),
    "emergency_after_alone": (
        "That sounds very hard. At {number} somebody listens at any hour, and a pharmacist of ours can take over here.",
        "זה נשמע קשה מאוד. ב-{number} יש מי שמקשיב בכל שעה, ורוקח או רוקחת שלנו יכולים להמשיך מכאן.",
    ),
    "emergency_after_person_first": (
        "That is for a pharmacist or doctor to judge. Shall I pass you on to a pharmacist?",
        "את זה יכולים לשפוט רוקח או רופא. להעביר אתכם לרוקח או לרוקחת?",
    ),
    "emergency_after_what_now": (
        "Please tell {number} about it: they say at once what to do.",
        "נא לספר על כך ב-{number}: שם אומרים מיד מה לעשות.",
    ),
    "emergency_chip_safe": ("I'm safe now", "אני במקום בטוח עכשיו"),
    "emergency_chip_over": ("It's over, all is well", "זה נגמר, הכול בסדר"),
}

# The number in languages that the assistant does not speak; see agent/safety/emergency/other_languages.yaml.
OTHER_LANGUAGES: Final[dict[str, str]] = {
    "ru": "Похоже на экстренную ситуацию. Звоните сейчас: {numbers}.",
    "uk": "Схоже на надзвичайну ситуацію. Телефонуйте зараз: {numbers}.",
    "ar": "يبدو هذا حالة طارئة. اتصلوا الآن: {numbers}.",
    "fr": "Cela ressemble à une urgence. Appelez maintenant : {numbers}.",
    "es": "Esto parece una emergencia. Llame ahora: {numbers}.",
    "am": "ይህ ድንገተኛ አደጋ ይመስላል። አሁኑኑ ይደውሉ፦ {numbers}።",
}
