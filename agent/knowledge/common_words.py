"""Words that say little of what a question is about, and words that mean the same to who asks. Pure.

Both are only for how much of a question an entry covers: "is it ok to keep my pills in the bathroom" is about pills and a
bathroom, and a text that says tablets covers it.
"""

from collections.abc import Mapping
from typing import Final

from pharmacy_site.lib.text import words

LANGUAGES: Final = frozenset({"en", "he"})
"""Those that the lists know."""

LIGHT: Final = frozenset(
    words(
        "a an and are as at be been being but by can cant could did do does doing dont for from get gets getting give go goes going"
        " good got had has have havent having he help hello her hey hi him his how i id if ill im in into is isnt it its ive just know"
        " let like lot make may me mean means might mine must my need no not now of ok okay on one or our out over please really"
        " right same she should so some someone something still sure tell than thanks that thats the their them then there these"
        " they thing things think this those to too up us use used using very want was we were what whats when where wheres which"
        " who whom whos why will with work works would yes you your youre after also any anyone again all allowed am another because"
        " before bring ask about actually already anything bad happen happens even feel guys matter problem put quick question say"
        " says somebody take takes taking took wait way while wondering wonder u ur pls today tonight next month week year two soon keeps anyone plz gonna wanna"
        " yo lol tho btw um uh well hell ridiculous count counts explain mean meaning meant want wanted people everything"
        " אבל או אותו אותה אותם אותן אז אחד אחת אחרי אי איזה איזו איך אילו אין איפה אל אם אנחנו אני אפשר אצל את אתה אתם באמת"
        " בבקשה בגלל בו ביי בין בלי גם דבר הוא היא היה הייתה היי הם הן האם הזה הזאת הזו ואז ומה זאת זה זו חייב חייבים חייבת"
        " טוב יודע יודעת יש יכול יכולה יכולים כבר כדאי כמה כמו כן לא לי לך לכם לנו לו להם לה למה למי לקחת לוקח לוקחים לוקחת"
        " מה מי מישהו מותר מתי נורא סתם עד עוד עושה עושים על עם עכשיו פה פשוט צריך צריכה צריכים קצת רגע רוצה רק שאלה של שלי"
        " שלך שלכם שלנו שם תודה תמיד כאן לעשות להיות הכול הכל בעיה עזוב עזבי הבא מביאים להביא אתמול היום"
        " אממ אהה רציתי רצינו לדעת לשאול שואל שואלת בעצם בכלל תגיד תגידי תגידו תגידי נגיד סליחה אגב נחשב נחשבת משנה כאילו בערך"
    )
)
"""Folded; `relevance` lets them count little, wherever they stand."""

_JOINING: Final = ("ו", "ש")
"""Letters that join a Hebrew word to the sentence: "and", "that"."""


def is_light(word: str) -> bool:
    """Return whether a folded word says little, also with "and" or "that" written to it: "ואם"."""
    return word in LIGHT or (word.startswith(_JOINING) and word[1:] in LIGHT)


_SAME: Final = (
    "medicine medicines medication medications medecine medecines meds med drug drugs pill pills tablet tablets dose doses",
    "throw dispose disposal discard rid bin flush",
    "keep keeping kept store stored storing storage",
    "forgot forget forgotten missed miss skipped skip",
    "child children kid kids toddler son daughter",
    "baby babies infant infants newborn",
    "fly flying flight plane airplane travel travelling traveling trip abroad vacation holiday",
    "luggage suitcase bag baggage",
    "fridge refrigerator refrigerated cold",
    "expiry expired expire expires expiration date",
    "finish finished finishing complete course",
    "fine better cured",
    "drink drinking drank alcohol beer wine vodka whisky whiskey booze",
    "report reporting reported complain complaint",
    "adverse side unwanted",
    "effect effects reaction reactions",
    "car cars",
    "vaccine vaccines vaccination vaccinations shot shots jab jabs",
    "infectious contagious catch catching",
    "virus viruses viral",
    "crush crushed crushing grind",
    "open opened opening",
    "slow extended sustained prolonged",
    "coated coating enteric",
    "carry luggage hand",
    "spit spat spits",
    "cheap cheaper cheapest",
    "neighbour neighbor neighbours neighbors friend friends",
    "spoon teaspoon",
    "liquid liquids syrup syrups",
    "herbal natural herbs supplement supplements",
    "mix mixing combine combining together interact interacts interaction clash clashes",
    "split splitting half halve cut",
    "vomit vomited threw throw puke",
    "stop stopping quit",
    "generic generics copy",
    "brand brands original",
    "doctor doctors physician gp",
    "teeth tooth",
    "nose nasal",
    "color colour colors colours coloured colored changed strange",
    "collect pick pickup fetch",
    "papers documents letter",
    "לטפטף מטפטפים טפטוף טפטפת",
    "לאסוף לקבל אוסף אוספים",
    "עייפות ישנוניות נמנום",
    "gum gums",
    "כדור כדורים טבליה טבלייה טבליות תרופה תרופות גלולה",
    "לזרוק זורקים להשליך להיפטר לאן",
    "שומרים לשמור שמירה מאחסנים לאחסן אחסון נשמר נשמרת",
    "ילד ילדים ילדה פעוט בן בת",
    "תינוק תינוקות תינוקת",
    "טס טסה טסים טיסה מטוס חול נסיעה נוסעים",
    "מקרר קירור",
    "שכחתי שוכחים שכחו פספסתי החמצתי",
    "לחצות חוצים לחתוך לחצי",
    "סוכרת סוכרתי סוכרתית סוכרתיים",
    "אשכולית אשכוליות",
    "מדווחים לדווח דיווח",
    "מקורית מקורי מותג",
    "פתיחה שנפתח נפתח פתוח פותחים שפותחים פתחתי פתחנו פתיחת",
    "להתלונן מתלוננים תלונה מדווחים לדווח דיווח",
    "רחוק מרחיקים להרחיק הרחק",
    "רכב אוטו מכונית",
    "להשאיר השארתי השארנו נשארה נשארו שכחתי",
    "תוקף תקף תקפה בתוקף תפוגה פג",
    "הקיא הקיאה להקיא מקיא מקיאה הקאות",
    "ירק ירקה פלט פלטה",
    "וירוס ווירוס וירוסים נגיף נגיפים ויראלי ויראלית נגיפית",
    "אנטיביוטיקה אנטיביוטיקות אנטיביוטי",
    "שכן שכנה שכנים חבר חברה מישהו",
    "לשתות שותה שותים אלכוהול בירה יין וודקה",
    "הריון היריון בהריון בהיריון הרה",
    "הנקה מניקה מניקות להניק",
    "צמחים צמחי טבעי טבעית",
    "מפסיק מפסיקים להפסיק הפסיק הפסקתי הפסיקה",
    "לכתוש כותשים לרסק מרסקים",
    "מקבל מקבלת מקבלים",
    "חיסון חיסונים להתחסן",
    "נוסע נוסעת נוסעים טיול נסיעה לטוס טסים",
    "צבע צבעו שונה השתנה",
)


def _grouped() -> Mapping[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for line in _SAME:
        group = frozenset(words(line))
        for word in group:
            found[word] = found.get(word, frozenset()) | group
    return found


SAME: Final[Mapping[str, frozenset[str]]] = _grouped()
"""Each folded word with those that mean the same, itself among them."""
