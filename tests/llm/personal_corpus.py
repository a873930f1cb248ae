"""Sentences with personal values in many ways of writing, made by a seed; each with the pieces that must not be seen."""

import random
from collections.abc import Callable

Sample = tuple[str, list[str]]


def _digits(rng: random.Random, count: int) -> str:
    return "".join(rng.choice("0123456789") for _ in range(count))


def _mobile(rng: random.Random) -> Sample:
    prefix, a, b = f"05{rng.choice('023458')}", rng.choice("23456789") + _digits(rng, 2), _digits(rng, 4)
    ways = [
        f"{prefix}-{a}{b}", f"{prefix}{a}{b}", f"{prefix} {a} {b}", f"{prefix}-{a}-{b}", f"({prefix}) {a}-{b}",
        f"+972 {prefix[1:]} {a} {b}", f"+972-{prefix[1:]}-{a}{b}", f"+972{prefix[1:]}{a}{b}", f"972{prefix[1:]}{a}{b}",
        f"00972 {prefix[1:]} {a}{b}", f"+972 (0){prefix[1:]} {a} {b}", f"{prefix}.{a}.{b}", f"{prefix}/{a}{b}",
        f"{prefix}\u2013{a}{b}", f"\u2066{prefix}-{a}{b}\u2069", f"{prefix}\u200b-{a}\u200f{b}",
        " ".join(f"{prefix}{a}{b}"), f"{prefix} {a[:2]} {a[2]}{b[0]} {b[1:]}",
        f"{prefix}-{a}{b}".translate(str.maketrans("0123456789", "٠١٢٣٤٥٦٧٨٩")),
        f"{prefix}{a}{b}".translate(str.maketrans("0123456789", "０１２３４５６７８９")),
    ]  # fmt: skip
    return rng.choice(ways), [a, b]


def _landline(rng: random.Random) -> Sample:
    area, a, b = (
        rng.choice(["02", "03", "04", "08", "09"]),
        f"{rng.choice('5679')}{_digits(rng, 2)}",
        _digits(rng, 4),
    )
    ways = [
        f"{area}-{a}{b}",
        f"({area}) {a}-{b}",
        f"{area} {a} {b}",
        f"{area}{a}{b}",
        f"+972-{area[1:]}-{a}{b}",
    ]
    return rng.choice(ways), [a, b]


def _freephone(rng: random.Random) -> Sample:
    a, b = _digits(rng, 3), _digits(rng, 3)
    return rng.choice(
        [f"1-800-{a}-{b}", f"1-800-{a}{b}", f"1800 {a} {b}", f"1-700-{a}-{b}", f"1-800-{a}-{b}4"]
    ), [a, b]


def _abroad(rng: random.Random) -> Sample:
    a, b = _digits(rng, 3), _digits(rng, 4)
    return rng.choice(
        [f"+1 (212) {a}-{b}", f"+1-646-{a}-{b}", f"+44 20 7{a} {b}", f"(415) {a}-{b}", f"+33 6 1{a} {b}"]
    ), [a, b]


def _email(rng: random.Random) -> Sample:
    name = rng.choice(
        [
            "dana",
            "moshe.levi",
            "noa_cohen",
            "d.levi+pharm",
            "y-mizrahi",
            "RUTH",
            "avi99",
            "o'brien",
            "tamar.b.k",
        ]
    )
    name += _digits(rng, 2)
    host = rng.choice(
        ["gmail.com", "walla.co.il", "zmx.example.org", "post.bgu.ac.il", "Hotmail.COM", "clinic-x.net"]
    )
    ways = [f"{name}@{host}"] * 6 + [
        f"<{name}@{host}>", f'"{name}@{host}"', f"mailto:{name}@{host}", f"{name} @ {host}", f"{name}(at){host}",
        f"{name} at {host.replace('.', ' dot ')}", f"{name}\u200b@{host}", f"{name}＠{host}",
    ]  # fmt: skip
    return rng.choice(ways), [name, host.split(".")[0]]


def national_id(rng: random.Random) -> str:
    """A number with a right check digit."""
    body = rng.choice("0123") + _digits(rng, 7)
    total = sum(
        value - 9 if value > 9 else value for value in (int(d) * (1 + n % 2) for n, d in enumerate(body))
    )
    return f"{body}{-total % 10}"


def _id(rng: random.Random) -> Sample:
    number = national_id(rng)
    ways = [
        number,
        f"{number[:8]}-{number[8]}",
        f"{number[:3]} {number[3:6]} {number[6:]}",
        f"{number[:5]} {number[5:]}",
    ]
    return rng.choice(ways), [number[:5], number[5:]]


def _mrn(rng: random.Random) -> Sample:
    number = rng.choice("123456789") + _digits(rng, rng.choice([5, 6, 7]))
    return rng.choice([number, number, f"{number[:4]}-{number[4:]}", f"{number[:4]} {number[4:]}"]), [
        number[:4],
        number,
    ]


_MONTHS_EN = "January February March April May June July August September October November December".split()
_MONTHS_HE = "ינואר פברואר מרץ אפריל מאי יוני יולי אוגוסט ספטמבר אוקטובר נובמבר דצמבר".split()
_DAYS_EN = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth".split()
_TENS_EN = {60: "sixty", 70: "seventy", 80: "eighty", 90: "ninety"}
_DAYS_HE = "ראשון שני שלישי רביעי חמישי שישי שביעי שמיני תשיעי עשירי".split()


def _birth_en(rng: random.Random) -> Sample:
    day, month, year = rng.randint(1, 28), rng.randint(1, 12), rng.randint(1935, 2008)
    name = _MONTHS_EN[month - 1]
    tens = rng.choice(list(_TENS_EN))
    words = f"{rng.choice(_DAYS_EN)} of {name} nineteen {_TENS_EN[tens]}-five"
    ways = [
        (f"{day:02}/{month:02}/{year}", [str(year)]), (f"{day}.{month}.{year}", [str(year)]), (f"{year}-{month:02}-{day:02}", [str(year)]),
        (f"{day:02}-{month:02}-{year}", [str(year)]), (f"{day:02}/{month:02}/{year % 100:02}", [f"/{year % 100:02}"]),
        (f"{name} {day}, {year}", [name, str(year)]), (f"{day} {name} {year}", [name, str(year)]), (f"{day}th of {name[:3]} {year}", [str(year)]),
        (f"{day:02}{month:02}{year}", [str(year)]), (words, [name, "nineteen"]),
    ]  # fmt: skip
    return rng.choice(ways)


def _birth_he(rng: random.Random) -> Sample:
    day, month, year = rng.randint(1, 28), rng.randint(1, 12), rng.randint(1935, 2008)
    name = _MONTHS_HE[month - 1]
    ways = [
        (f"{day:02}/{month:02}/{year}", [str(year)]), (f"{day}.{month}.{year}", [str(year)]), (f"{day}.{month}.{year % 100:02}", [f".{year % 100:02}"]),
        (f"{day} ב{name} {year}", [name, str(year)]), (f"{day} ל{name} {year}", [name, str(year)]),
        (f"{rng.choice(_DAYS_HE)} ב{name} {year}", [name, str(year)]), (f"{rng.choice(_DAYS_HE)} ב{name} אלף תשע מאות שמונים ושלוש", [name, "אלף"]),
    ]  # fmt: skip
    return rng.choice(ways)


_NAMES_EN = [
    "Dana Levi", "Moshe Peretz", "Noa Cohen", "Yossi Mizrahi", "Ruth Goldberg", "David Ben-Ami", "Sarah O'Connor", "Ahmad Haddad",
    "Tamar Shapira", "John Smith", "Olga Petrova", "Michal Barzilai", "dana levi", "moshe peretz", "Zelda Kwiatkowska", "Kfir Ozeri",
]  # fmt: skip
_NAMES_HE = [
    "דנה לוי", "משה פרץ", "נועה כהן", "יוסי מזרחי", "רות גולדברג", "תמר שפירא", "אחמד חדאד", "מיכל ברזילי", "אולגה פטרובה", "כפיר עוזרי", "שרה אהרוני",
    "יונתן ויסמונסקי", "דוד אזולאי",
]  # fmt: skip


def _name_en(rng: random.Random) -> Sample:
    name = rng.choice(_NAMES_EN)
    return name, name.split()


def _name_he(rng: random.Random) -> Sample:
    name = rng.choice(_NAMES_HE)
    return name, name.split()


def _given_en(rng: random.Random) -> Sample:
    name = rng.choice(["Dana", "Moshe", "Noa", "Yossi", "Ruth", "Tamar", "Michael", "Svetlana", "Ahmad"])
    return name, [name]


def _given_he(rng: random.Random) -> Sample:
    name = rng.choice(["דנה", "משה", "נועה", "יוסי", "רות", "תמר", "מיכאל", "סבטלנה", "אחמד"])
    return name, [name]


def _code(rng: random.Random) -> Sample:
    code = _digits(rng, 6)
    return rng.choice([code, f"{code[:3]} {code[3:]}", f"{code[:3]}-{code[3:]}"]), [code[:3], code[3:]]


Maker = Callable[[random.Random], Sample]
_FRAMES_EN: list[tuple[str, Maker]] = [
    ("call me back on {} please", _mobile), ("My number is {}, is Advil 200 mg in stock?", _mobile), ("{}", _mobile),
    ("you can reach my husband at {}. thanks", _mobile), ("phone: {}", _landline), ("my home phone is {} and I need 2 packs", _landline),
    ("our office line is {}", _freephone), ("I'm abroad, my cell is {} for now", _abroad), ("my email is {}", _email), ("{}", _email),
    ("send it to {} please, 20 tablets of Acamol", _email), ("contact:{}.", _email), ("my ID is {}", _id), ("{}", _id), ("ID number {}, thanks", _id),
    ("identity card {} and the prescription is RX-1007", _id), ("MRN {}", _mrn), ("my medical record number is {}, can I refill?", _mrn),
    ("patient number {}", _mrn), ("I was born on {}", _birth_en), ("date of birth: {}", _birth_en), ("DOB {} and I take 500 mg", _birth_en),
    ("my son was born on {}, can he have Nurofen?", _birth_en), ("My name is {}", _name_en), ("my name is {} and I need a refill", _name_en),
    ("Hello, patient name: {}. Is it ready?", _name_en), ("the prescription is in the name of {}, please check", _name_en),
    ("hi, this is {} speaking", _given_en), ("I'm {}, do you have Omega 3?", _given_en), ("Thanks, {}", _given_en),
    ("my code is {}", _code), ("the code: {}", _code), ("{}", _code),
]  # fmt: skip
_FRAMES_HE: list[tuple[str, Maker]] = [
    ("תתקשרו אליי ל-{} בבקשה", _mobile), ("המספר שלי {} יש אקמול 500 מ״ג?", _mobile), ("{}", _mobile), ("הטלפון:{}", _mobile), ("אני זמין ב{}", _mobile),
    ("בבית {} אחרי 18:00", _landline), ("טלפון נייח {}", _landline), ("הקו שלי הוא {}", _freephone), ("אני בחו״ל, נייד {}", _abroad), ("המייל שלי {}", _email),
    ("שלחו ל{} בבקשה", _email), ("ב-{} תודה", _email), ("אימייל: {}, 2 אריזות", _email), ("ת״ז {}", _id), ("תעודת זהות שלי {}", _id), ("{}", _id),
    ("מספר זהות {} והמרשם RX-1007", _id), ("מספר מטופל {}", _mrn), ("תיק רפואי מספר {}, אפשר לחדש?", _mrn), ("נולדתי ב-{}", _birth_he), ("תאריך לידה {}", _birth_he),
    ("הבת שלי נולדה ב{}, מותר לה נורופן?", _birth_he), ("קוראים לי {}", _name_he), ("שמי {} ואני צריכה לחדש מרשם", _name_he), ("השם שלי הוא {}.", _name_he),
    ("המרשם על שם {}, אפשר לבדוק?", _name_he), ("אני {} ואני צריכה אקמול", _given_he), ("שלום, מדברת {}", _given_he), ("זה {}, יש אומגה 3?", _given_he),
    ("הקוד שלי {}", _code), ("קוד: {}", _code), ("{}", _code),
]  # fmt: skip


def samples(language: str, count: int, seed: int = 4) -> list[Sample]:
    """As many sentences, each kind equally often."""
    rng = random.Random(f"{seed}{language}")
    frames = _FRAMES_HE if language == "he" else _FRAMES_EN
    made = []
    for place in range(count):
        frame, maker = frames[place % len(frames)]
        value, pieces = maker(rng)
        made.append((frame.format(value), pieces))
    return made


BENIGN = [
    "Is Advil 200 mg in stock?", "I need 2 packs of Acamol 500 mg, 20 tablets", "RX-1007", "prescription 123456", "refill RX-1007 please", "Omega 3",
    "vitamin D 100000 IU", "vitamin B12 1,000 mcg", "875 mg + 125 mg", "amoxicillin 250 mg/5 ml", "ibuprofen 200 400 600?", "take 1/2 tablet every 4-6 hours",
    "How much is it, 34.90 ILS?", "it costs ₪1,250.00", "is the branch open 08:00-20:00?", "open 8.00-20.00 on Friday?", "within 12.5 km of me",
    "store 1042", "branch number 12", "Dizengoff Center", "do you have a store in Ramat Gan?", "King George Street 12", "Weizmann 14, Rehovot", "Ben Gurion Airport",
    "restock on 12/11/2026", "I ordered it on 3 November 2026", "it arrives on 2026-11-25", "03/11/26", "best before 12/2027", "24/7", "COVID-19", "1000-2000 mg",
    "I'm allergic to penicillin", "I am pregnant", "I'm Diabetic", "I'm looking for Losec", "this is urgent", "This is Advil, right?", "I am 46 years old", "it's Nurofen for kids",
    "call me later", "for my daughter", "the name is Advil", "what is the name of the medicine?", "my name", "its name is Losec", "who are you", "Dr. Fischer sunscreen",
    "can my son take Tylenol with Warfarin?", "I'm Taking Metformin and Eltroxin", "thanks for the help", "hi there", "hello doctor", "My wife needs Xanax",
    "The generic of Lipitor 20mg", "5-HTP 100 mg", "Centrum Silver 50+", "B-12 & Zinc", "SPF 50", "I will be there at 7", "may I take it?", "1,000,000 units", "50% off?",
    "look at the leaflet", "meet me @ 5", "Is [Advil] the same as ibuprofen?", "one two three", "2 for 1", "blood pressure 120/80", "temperature 38.5",
    "יש אקמול 500 מ״ג?", "אני צריכה 2 אריזות של נורופן", "מרשם 123456", "לחדש את RX-1007", "אומגה 3", "ויטמין D 100000 יחב״ל", "כמה עולה? 34.90 ש״ח", "₪49.90",
    "פתוח 08:00-20:00?", "הסניף בדיזנגוף סנטר", "יש סניף ברמת גן?", "רחוב דוד אלעזר 5", "רחוב יגאל אלון 94", "כיכר רבין", "סניף 1042", "מלאי ב-12.11.2026", "אני בהריון",
    "אני אלרגי לפניצילין", "אני צריך אקמול", "אני סוכרתי", "זה דחוף", "זה אדוויל?", "איך קוראים לתרופה?", "קוראים לתרופה לוסק", "שם התרופה אקמול", "מה השם הגנרי של ליפיטור?",
    "הבן שלי בן 5", "לבן שלי יש חום", "אמא שלי לוקחת קומדין", "ד״ר פישר קרם הגנה", "תודה רבה", "שלום לכם", "כאן יש אקמול?", "20 טבליות של 10 מ״ג", "כל 4-6 שעות",
    "תוך 12.5 ק״מ", "24 שעות ביממה", "אני לוקח אלטרוקסין 50 ומטפורמין 850", "יש לי כאב ראש", "אור ישראל", "מתי פתוח בשישי?", "טל׳", "בת כמה היא?",
]  # fmt: skip
