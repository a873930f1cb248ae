"""The sentences of emergencies: key → (English, Hebrew), and the number in further languages. Data only."""

from typing import Final

EMERGENCY_SENTENCES: Final[dict[str, tuple[str, str]]] = {
    "emergency_MEDICAL": (
        "This sounds like an emergency. Call an ambulance now: {medical}.",
        "זה נשמע כמו מצב חירום. התקשרו עכשיו למד״א: {medical}.",
    ),
    "emergency_POISONING": (
        "Too much of a medicine or swallowing something harmful is an emergency. Call {medical} now, also if there are no signs yet.",
        "נטילת יתר או בליעת חומר מסוכן הן מצב חירום. התקשרו עכשיו ל-{medical}, גם אם אין עדיין סימנים.",
    ),
    "emergency_POISONING_CENTRE": (
        "Too much of a medicine or swallowing something harmful is an emergency. Call the poison centre now: {poison}, "
        "also if there are no signs yet. Whoever is unconscious, shaking or breathing badly needs {medical}.",
        "נטילת יתר או בליעת חומר מסוכן הן מצב חירום. התקשרו עכשיו למרכז להרעלות: {poison}, גם אם אין עדיין סימנים. "
        "בחוסר הכרה, בפרכוסים או בקשיי נשימה: {medical}.",
    ),
    "emergency_SELF_HARM": (
        "You don't have to be alone with this. ERAN, {crisis}, answers at any hour. In immediate danger call {medical}.",
        "לא חייבים להישאר עם זה לבד. ער״ן, {crisis}, זמינים בכל שעה. בסכנה מיידית: מד״א, {medical}.",
    ),
    "emergency_EXTRA_DOSE": (
        "Please speak to a pharmacist or doctor right away about the extra dose. "
        "If you feel unwell, call {medical}.",
        "נא לפנות מיד לרוקח או לרופא בנוגע למנה הנוספת. אם מרגישים לא טוב, התקשרו ל-{medical}.",
    ),
    "emergency_EXTRA_DOSE_CENTRE": (
        "Please speak to the poison centre, {poison}, a pharmacist or a doctor right away about the extra dose. "
        "If you feel unwell, call {medical}.",
        "נא לפנות מיד למרכז להרעלות, {poison}, לרוקח או לרופא בנוגע למנה הנוספת. "
        "אם מרגישים לא טוב, התקשרו ל-{medical}.",
    ),
    "emergency_ADVERSE": (
        "Please speak to a pharmacist or doctor now about this. Call {medical} if breathing is hard, the face or throat "
        "swells, or somebody faints.",
        "נא לדבר עכשיו עם רוקח או רופא על כך. התקשרו ל-{medical} אם קשה לנשום, אם הפנים או הגרון מתנפחים, או אם מישהו מתעלף.",
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
        "You are not alone: ERAN, {crisis}, at any hour. In immediate danger: {medical}.",
        "אתם לא לבד: ער״ן, {crisis}, בכל שעה. בסכנה מיידית: {medical}.",
    ),
    "emergency_line_EXTRA_DOSE": (
        "About the extra dose please speak to a pharmacist or doctor now. If you feel unwell, call {medical}.",
        "בנוגע למנה הנוספת נא לדבר עכשיו עם רוקח או רופא. אם מרגישים לא טוב, התקשרו ל-{medical}.",
    ),
    "emergency_line_EXTRA_DOSE_CENTRE": (
        "About the extra dose please speak to the poison centre, {poison}, a pharmacist or a doctor now. If you feel unwell, call {medical}.",
        "בנוגע למנה הנוספת נא לדבר עכשיו עם המרכז להרעלות, {poison}, עם רוקח או עם רופא. אם מרגישים לא טוב, התקשרו ל-{medical}.",
    ),
    "emergency_line_ADVERSE": (
        "About the reaction please speak to a pharmacist or doctor now. Call {medical} if breathing is hard or somebody faints.",
        "בנוגע לתגובה נא לדבר עכשיו עם רוקח או רופא. התקשרו ל-{medical} אם קשה לנשום או אם מישהו מתעלף.",
    ),
    "emergency_held": (
        "Until this is over I give no information on medicines here. Phones and opening hours of branches I can give, and "
        "a pharmacist can take over. When it is over, please tell me.",
        "עד שזה מאחורינו איני מוסר כאן מידע על תרופות. טלפונים ושעות פתיחה של סניפים אפשר לקבל, ורוקח או רוקחת יכולים "
        "להמשיך מכאן. כשזה נגמר, נא לכתוב לי.",
    ),
    "emergency_after_over": (
        "Good to hear that. If anything gets worse, call {medical}. You can ask me as usual again.",
        "טוב לשמוע. אם משהו מחמיר, התקשרו ל-{medical}. אפשר שוב לשאול אותי כרגיל.",
    ),
    "emergency_after_coming": (
        "Good that help is on its way or there. {number} can say what to do. When it is over, please tell me.",
        "טוב שהעזרה בדרך או כבר שם. ב-{number} יאמרו מה לעשות. כשזה ייגמר, נא לומר לי.",
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
        "If anybody may be in danger, please call {number} all the same. If nobody is, or it is over, please tell me.",
        "אם מישהו אולי בסכנה, נא להתקשר בכל זאת ל-{number}. אם זה נגמר, נא לכתוב לי.",
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
        "Please call {number} now: they say what to do until help comes.",
        "נא להתקשר עכשיו ל-{number}: שם אומרים מה לעשות עד שמגיעה עזרה.",
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
