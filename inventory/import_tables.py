"""Map the words of a drug register to the words of this project. Data only.

The register is Health Canada's Drug Product Database; another country's register would need tables of its own.
"""

from typing import Final

# Canada does not have the schedules of the United States; these are the nearest ones, and refill rules use them.
SCHEDULE_OF_CLASS: Final[dict[str, str]] = {"": "", "narcotic": "II", "controlled": "III", "targeted": "IV"}

HUMAN_CLASS: Final = "human"

BOOLEANS: Final[dict[str, bool]] = {
    **dict.fromkeys(("true", "t", "yes", "y", "1"), True),
    **dict.fromkeys(("false", "f", "no", "n", "0"), False),
}

# -- Ingredients ---------------------------------------------------------------------------------------------

# Another name -> the name used here. Both must name one substance: never an ester for another ester.
INGREDIENT_SYNONYMS: Final[dict[str, str]] = {
    "acetaminophen": "paracetamol",
    "acetylsalicylic acid": "aspirin",
    "albuterol": "salbutamol",
    "adrenaline": "epinephrine",
    "noradrenaline": "norepinephrine",
    "glyceryl trinitrate": "nitroglycerin",
    "lisdexamfetamine dimesylate": "lisdexamfetamine",
    "mometasone furoate": "mometasone",
    "neostigmine methylsulfate": "neostigmine",
    "pentamidine isetionate": "pentamidine",
    "diclofenac diethylamine": "diclofenac",
    "fludrocortisone 21-acetate": "fludrocortisone",
    "cortisone acetate": "cortisone",
    "sevelamer carbonate": "sevelamer",
    "rotavirus": "rotavirus vaccine",
    "dextrose, unspecified form": "dextrose",
    # French names in the interactions file.
    "gentamicine": "gentamicin",
    "pizotifene": "pizotifen",
    "heparine sodique": "heparin",
    "spiramycine": "spiramycin",
    "dimethyle ( fumarate de)": "dimethyl fumarate",
    "charbon active": "activated charcoal",
    "oxybate de sodium": "sodium oxybate",
    "sodium (docusate de)": "docusate",
    "lithium cation": "lithium",
    "lithium carbonate": "lithium",
}

# Salts say how a substance was made into a tablet. Taken from the end of a name only, and never from one of
# the metals below: sodium chloride is not sodium. Acetates, valerates, furoates and the like are esters of
# their own strength, and stay.
SALTS: Final = frozenset(
    "hydrochloride dihydrochloride hcl hydrobromide besylate besilate maleate mesylate mesilate "
    "tartrate bitartrate succinate hemifumarate tosylate trihydrate monohydrate dihydrate hemihydrate "
    "anhydrous sodium potassium calcium magnesium meglumine tromethamine".split()
)
NEVER_A_STEM: Final = frozenset(
    "sodium potassium calcium magnesium zinc iron ferrous ferric copper aluminum aluminium ammonium "
    "lithium silver bismuth barium strontium manganese chromium selenium hydrogen".split()
)

# Canonical names that no longer name the substance ("SODIUM LACTATE" -> "sodium"): the register's own name is used.
LOST_NAMES: Final = frozenset(
    {"sodium", "potassium", "live", "human", "inactivated", "strain", "equine", "rabbit", "nph"}
)

# A pharmacist decides whether another brand may replace these (narrow therapeutic index); biologics are recognised by
# their schedule.
PHARMACIST_ONLY_INGREDIENTS: Final = frozenset(
    {
        "carbamazepine",
        "cyclosporine",
        "digoxin",
        "levothyroxine",
        "liothyronine",
        "lithium",
        "mycophenolic acid",
        "phenytoin",
        "sirolimus",
        "tacrolimus",
        "theophylline",
        "warfarin",
    }
)
BIOLOGIC_SCHEDULE: Final = "SCHEDULE D"
BIOLOGIC_ENDINGS: Final = ("mab", "cept", "kinra", "grastim", "poetin", "poetin alfa")
BIOLOGIC_BEGINNINGS: Final = ("insulin",)

# -- Forms ---------------------------------------------------------------------------------------------------

RELEASE_WORDS: Final[dict[str, str]] = {
    "extended": "extended",
    "sustained": "extended",
    "controlled": "extended",
    "slow": "extended",
    "prolonged": "extended",
    "delayed": "delayed",
    "enteric": "delayed",
    "immediate": "immediate",
}
# Words of a brand name that tell the release type when the form column does not.
RELEASE_OF_BRAND_WORD: Final[dict[str, str]] = {
    **dict.fromkeys(("xr", "xl", "sr", "er", "cr", "mr"), "extended"),
    **dict.fromkeys(("ec", "dr"), "delayed"),
}
BRAND_RELEASE_FORMS: Final = frozenset({"tablet", "capsule"})
# Other words in brackets become part of the form: a chewable tablet is another form.
FORM_WORDS: Final[dict[str, str]] = {
    "orally disintegrating": "orally disintegrating",
    "chewable": "chewable",
    "effervescent": "effervescent",
    "combined release": "combined-release",
}
FORM_NAMES: Final[dict[str, str]] = {
    "spray, metered dose": "metered-dose spray",
    "spray, bag-on-valve": "spray",
    "metered-dose aerosol": "inhaler",
    "aerosol, metered dose": "inhaler",
    "powder (metered dose)": "inhalation powder",
    "aerosol, foam": "foam",
    "film, soluble": "soluble film",
    "mouthwash/gargle": "mouthwash",
    "jelly": "gel",
}
# The usual routes of a form; any other route becomes part of the form, because eye drops are not ear drops.
USUAL_ROUTES: Final[dict[str, frozenset[str]]] = {
    **dict.fromkeys(
        ("tablet", "capsule", "syrup", "elixir", "lozenge", "granules", "tablet for suspension"),
        frozenset({"oral"})
    ),
    **dict.fromkeys(
        (
            "cream", "ointment", "lotion", "gel", "shampoo", "stick", "wipe", "swab", "pad", "soap bar",
            "paste", "foam", "sponge", "oil",
        ),
        frozenset({"topical", "percutaneous"}),
    ),
    "patch": frozenset({"transdermal"}),
    "suppository": frozenset({"rectal"}),
    "enema": frozenset({"rectal"}),
    "ovule": frozenset({"vaginal"}),
    "vaginal tablet": frozenset({"vaginal"}),
    "vaginal capsule": frozenset({"vaginal"}),
    "mouthwash": frozenset({"topical", "oral", "dental", "buccal"}),
    "gas": frozenset({"inhalation"}),
    "inhaler": frozenset({"inhalation", "oral"}),
    "implant": frozenset({"injection"}),
    "inhalation powder": frozenset({"inhalation"}),
}  # fmt: skip
ROUTE_NAMES: Final[dict[str, str]] = {
    **dict.fromkeys(
        (
            "intravenous", "intramuscular", "subcutaneous", "intradermal", "epidural", "intrathecal",
            "intra-articular", "intra-arterial", "intravascular", "intrasynovial", "intralesional",
            "intraspinal", "intracerebroventricular", "soft tissue injection", "retrobulbar", "intrabursal",
            "intracardiac", "parenteral (unspecified)", "intracavernosal", "subarachnoidal",
            "block/infiltration", "infiltration", "intravitreal", "intraocular", "intracaudal",
            "intrapleural", "periarticular", "submucosal", "subretinal", "suprachoroidal", "interstitial",
            "intraglandular",
        ),
        "injection",
    ),
    "topical (household)": "topical",
    "topical (commercial)": "topical",
    "topical (hospital/hc facilities)": "topical",
    "haemodialysis": "dialysis",
    "haemodialysis (intraperitoneal)": "dialysis",
    "intraperitoneal": "dialysis",
    "0-unassigned": "",
}  # fmt: skip

LIQUID_WORDS: Final = frozenset(
    "solution suspension syrup elixir liquid emulsion drops tincture mouthwash enema dispersion".split()
)
DRY_WORDS: Final = frozenset({"powder", "granules"})
"""Forms whose strength, where no volume is given, is that of the vial or sachet."""

# -- Strengths -----------------------------------------------------------------------------------------------

UNIT_NAMES: Final[dict[str, str]] = {
    "MG": "mg", "MCG": "mcg", "G": "g", "KG": "kg", "ML": "mL", "MCL": "mcL", "UNIT": "units", "IU": "units",
    "MEQ": "mEq", "MCMOL": "mcmol", "MMOL": "mmol", "CELLS": "cells", "GENOME COPIES": "genome copies",
    "% W/V": "%", "% W/W": "%", "% V/V": "%",
}  # fmt: skip

# -- Names ---------------------------------------------------------------------------------------------------

LOWER_WORDS: Final = frozenset(
    "and or for of in with the on to at by de du des et la le les pour en avec per".split()
)
UPPER_WORDS: Final = frozenset(
    "ODT USP AG IPG NRA ACH AA ASA UV UVA UVB EC ER IR LA AC AQ IV IM IU PE PM AM II III IV VI HFA AUC "
    "PAL IPV A B C D E F G H I J K L M N P Q R S T U V W X Y Z".split()
)
UNIT_WORDS: Final[dict[str, str]] = {
    "MG": "mg", "MCG": "mcg", "ML": "mL", "MEQ": "mEq", "MMOL": "mmol", "IU": "IU", "HR": "hr", "HRS": "hrs",
}  # fmt: skip
