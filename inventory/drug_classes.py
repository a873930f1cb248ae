"""Name the classes of ingredients that allergies refer to, in both languages, with the words that people use for them."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from pharmacy_site.lib.text import Language, fold

_NAMES: Final[Mapping[str, tuple[str, str, str]]] = {
    # Class: its name in English and in Hebrew, and further names.
    "penicillin": (
        "penicillin", "פניצילין",
        "penicillins, penicilin, penicilins, penacillin, pencillin, penicillin antibiotics, פניצילינים, פנצילין, פניסילין, פניצלין",
    ),
    "cephalosporin": (
        "cephalosporins", "צפלוספורינים", "cephalosporin, cefalosporin, cefalosporins, צפלוספורין",
    ),
    "carbapenem": ("carbapenems", "קרבפנמים", "קרבפנם"),
    "sulfonamide-antibiotic": (
        "sulfa medicines (sulfonamides)", "תרופות סולפה (סולפונמידים)",
        "sulfa, sulpha, sulfas, sulfa drug, sulfa drugs, sulfa medicine, sulfa medicines, sulfa antibiotics, sulfonamide,"
        "sulfonamides, sulphonamide, sulphonamides, sulfonamide antibiotics, סולפה, סולפא, סולפונמיד, סולפונמידים,"
        "סולפאמידים, תרופות סולפה",
    ),
    "nsaid": (
        "NSAIDs (anti-inflammatory painkillers)", "נוגדי דלקת שאינם סטרואידים (NSAID)",
        "nsaids, anti inflammatories, anti inflammatory, antiinflammatories, anti inflammatory drugs, nonsteroidal anti inflammatory"
        " drugs, non steroidal anti inflammatory drugs, נוגדי דלקת, נוגדי דלקת שאינם סטרואידים, נוגדי דלקת לא סטרואידים",
    ),
    "salicylate": ("salicylates", "סליצילטים", "סליצילט"),
    "macrolide": ("macrolides", "מקרולידים", "מקרוליד"),
    "opioid": ("opioids", "אופיואידים", "opiate, opiates, אופיואיד, אופיאטים"),
    "statin": ("statins", "סטטינים", "סטטין"),
    "ace-inhibitor": ("ACE inhibitors", "מעכבי ACE", ""),
    "benzodiazepine": ("benzodiazepines", "בנזודיאזפינים", "benzos, בנזודיאזפין"),
    "antihistamine": ("antihistamines", "אנטיהיסטמינים", "אנטיהיסטמין"),
    "piperazine-antihistamine": ("piperazine antihistamines", "אנטיהיסטמינים מקבוצת הפיפרזין", ""),
    "proton-pump-inhibitor": ("proton pump inhibitors", "מעכבי משאבת פרוטונים", "ppi, ppis"),
    "thiazide": ("thiazides", "תיאזידים", "thiazide diuretics, תיאזיד"),
    "nitrate": ("nitrates", "ניטרטים", ""),
    "biguanide": ("biguanides", "ביגואנידים", ""),
    "anilide-analgesic": ("anilide painkillers", "משככי כאבים מקבוצת האנילידים", ""),
    "beta-lactamase-inhibitor": ("beta-lactamase inhibitors", "מעכבי בטא-לקטמאז", ""),
    "vitamin-k-antagonist": ("vitamin K antagonists", "נוגדי ויטמין K", ""),
    "pde5-inhibitor": ("PDE5 inhibitors", "מעכבי PDE5", ""),
    "thyroid-hormone": ("thyroid hormones", "הורמוני בלוטת התריס", ""),
    "tnf-inhibitor": ("TNF inhibitors", "מעכבי TNF", ""),
    "dihydrofolate-reductase-inhibitor": ("dihydrofolate reductase inhibitors", "מעכבי דיהידרופולט רדוקטאז", ""),
    "vasodilator": ("vasodilators", "מרחיבי כלי דם", ""),
}  # fmt: skip
_MEMBERS: Final[Mapping[str, str]] = {
    "penicillin": "ampicillin, flucloxacillin, piperacillin, אמפיצילין, פלוקלוקסצילין, פיפרצילין",
    "cephalosporin": "cephalexin, cefalexin, cefuroxime, ceftriaxone, keflex, צפלקסין, צפורוקסים, צפטריאקסון",
    "nsaid": "naproxen, diclofenac, etodolac, celecoxib, נפרוקסן, דיקלופנק, אטודולק, צלקוקסיב",
    "macrolide": "erythromycin, azithromycin, אריתרומיצין, אזיתרומיצין",
    "opioid": "morphine, tramadol, fentanyl, מורפין, טרמדול, פנטניל",
}
"""Ingredients that people name, for a catalogue that has no product of them."""
_RELATED: Final = (
    frozenset({"penicillin", "cephalosporin"}),
    frozenset({"penicillin", "carbapenem"}),
    frozenset({"cephalosporin", "carbapenem"}),
    frozenset({"sulfonamide-antibiotic", "thiazide"}),
)
"""Classes of which leaflets name the one among the warnings for allergies to the other."""


@lru_cache(maxsize=1)
def _classes_by_name() -> Mapping[str, str]:
    return {
        fold(name): key
        for key, (english, hebrew, others) in _NAMES.items()
        for name in (key, english, hebrew, *filter(None, others.split(",")))
    }


@lru_cache(maxsize=1)
def _classes_by_member() -> Mapping[str, str]:
    return {fold(name): key for key, names in _MEMBERS.items() for name in names.split(",")}


def class_named(text: str) -> str:
    """Return the class that a text is a name of, "" for none that we know."""
    return _classes_by_name().get(fold(text), "")


def class_of_member(text: str) -> str:
    """Return the class of an ingredient that people name although no product of it may be on file, else ""."""
    return _classes_by_member().get(fold(text), "")


def class_key(text: str) -> str:
    """Return a class as staff wrote it by its one name here, so that "Penicillins" is "penicillin"."""
    return class_named(text) or fold(text)


def class_labels(key: str) -> tuple[str, str]:
    """Return the name of a class in English and Hebrew; one that we do not know is called as it is written."""
    english, hebrew, _words = _NAMES.get(key, (key, key, ""))
    return english, hebrew


def class_shown(text: str, language: Language) -> str:
    """Return the name of a class in one language, however staff wrote it."""
    return class_labels(class_key(text))[language == "he"]


def is_related(one: str, other: str) -> bool:
    """Return whether somebody who is allergic to one class may react to the other, which is not the same."""
    return frozenset({one, other}) in _RELATED
