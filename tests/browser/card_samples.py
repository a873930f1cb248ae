"""A card of every kind in both languages, as the server words them, with long names and every state."""

from typing import Any

Card = dict[str, Any]


def _both(en: str, he: str, lang: str) -> str:
    return en if lang == "en" else he


def cards(lang: str) -> list[Card]:
    """One card of each kind and, where a kind has several states, all of them."""

    def t(en: str, he: str) -> str:
        return _both(en, he, lang)

    otc: Card = {"tag": t("OTC – no prescription", "ללא מרשם"), "rx": False}
    rx: Card = {"tag": t("Rx – prescription", "במרשם"), "rx": True}
    store: Card = {
        "name": t("Ramat Aviv, Tel Aviv", "רמת אביב, תל אביב"),
        "stock": t("12 units", "12 יחידות"),
        "level": "ok",
        "km": t("8.0 km", "8.0 ק״מ"),
        "open": True,
        "hours": t("Open now until 20:00", "פתוח עכשיו עד 20:00"),
        "today": t("Today 08:00–13:00, 16:00–20:00", "היום 08:00–13:00, 16:00–20:00"),
        "note": t("The eve of a holiday", "ערב חג"),
        "phone": "03-555-0101",
        "place": {"lat": 32.113, "lng": 34.804},
    }
    words = {
        "call": t("Call", "להתקשר"),
        "map": t("Map", "מפה"),
        "window": t("opens in a new window", "נפתח בחלון חדש"),
    }
    levels = {
        "low": t("Limited quantity: 3 units", "מלאי מוגבל: 3 יחידות"),
        "none": t("None", "אין"),
        "ask": t("Contact the branch", "לבירור בסניף"),
    }
    products = [
        {"name": t("Ibuprofen, tablet 200 mg", "איבופרופן, טבלייה 200 מ״ג"), **otc}
        | {"stock": text, "level": level}
        for level, text in levels.items()
    ]
    products.append(
        {
            "name": t(
                "Sulfamethoxazole + Trimethoprim, tablet 800 mg + 160 mg",
                "סולפמתוקסזול + טרימתופרים, טבלייה 800 מ״ג + 160 מ״ג",
            ),
            **rx,
            "stock": t("158 units", "158 יחידות"),
            "level": "ok",
        }
    )
    closed = {
        "open": False,
        "hours": t("Closed now, opens Sunday at 08:00", "סגור עכשיו, ייפתח ביום ראשון ב-08:00"),
        "level": "low",
        "stock": levels["low"],
    }
    online = {
        "name": t("Online store", "החנות המקוונת"),
        "level": "none",
        "stock": levels["none"],
        "open": None,
    }
    titled = {"title": t("Stock: Ibuprofen", "מלאי: איבופרופן")}
    columns = [t("Product", "תכשיר"), t("In stock", "במלאי")]
    as_of = t("Stock as of 04:40; it is not reserved.", "המלאי נכון לשעה 04:40, ואינו שמור עבורכם.")
    return [
        {
            "kind": "medication",
            "data": {
                "title": t("Acamoli", "אקמולי"),
                **otc,
                "rows": [
                    [
                        t("Active ingredient", "חומר פעיל"),
                        t("Paracetamol 120 mg/5 ml", "פרצטמול 120 מ״ג/5 מ״ל"),
                    ],
                    [t("Pack", "אריזה"), t("100 ml", "100 מ״ל")],
                    [t("Price on file", "מחיר רשום"), "₪26.90"],
                ],
                "source": t(
                    "Source: Product leaflet, updated 25.07.2026", "מקור: עלון לצרכן, עודכן 25.07.2026"
                ),
            },
        },
        {
            "kind": "stock",
            "data": {
                **titled,
                **rx,
                "stores": [store, {**store, **closed}, online],
                "words": words,
                "note": as_of,
            },
        },
        {
            "kind": "stock",
            "data": {
                "title": t("Listed under “Pain relievers”", "רשומים תחת ”משככי כאבים“"),
                "columns": columns,
                "products": products,
                "note": as_of,
            },
        },
        {
            "kind": "equivalents",
            "data": {
                "title": t("Equivalents of PainAway", "תכשירים זהים לפיינאווי"),
                "columns": columns,
                "products": products,
                "note": t(
                    "They are equal in active ingredients, strength and form. Possible differences: price, "
                    "inactive ingredients, packaging.",
                    "הם זהים בחומרים הפעילים, בחוזק ובצורת המתן. הבדלים אפשריים: מחיר, חומרים לא פעילים, אריזה.",
                ),
            },
        },
        {
            "kind": "interactions",
            "data": {
                "title": t("Interactions on file", "אינטראקציות רשומות"),
                "pairs": [
                    {
                        "names": [t("Warfarin", "וורפרין"), "Advil 200 mg"],
                        "level": level,
                        "label": label,
                        "text": t(
                            "According to our data. Speak to a pharmacist or doctor before taking them together.",
                            "לפי הנתונים שלנו. יש לשוחח עם רוקח או רופא לפני נטילה משולבת.",
                        ),
                    }
                    for level, label in {
                        "avoid": t("Not to be taken together", "אין ליטול יחד"),
                        "caution": t("Caution", "נדרשת זהירות"),
                        "same": t("Same active ingredient", "אותו חומר פעיל"),
                    }.items()
                ],
                "note": t("Zinc could not be assessed.", "לא ניתן היה לבדוק את אבץ."),
            },
        },
        {
            "kind": "prescriptions",
            "data": {
                "title": t("Your prescriptions", "המרשמים שלכם"),
                "prescriptions": [
                    {
                        "name": t("Metformin", "מטפורמין"),
                        "state": state,
                        "status": status,
                        "refills": t("2 refills remaining", "נותרו 2 ניפוקים"),
                        "refill": t("Can be refilled", "ניתן לניפוק")
                        if state == "active"
                        else t("Cannot be refilled", "לא ניתן לניפוק"),
                        "can_refill": state == "active",
                        "ask": [
                            t("Refill", "ניפוק נוסף"),
                            t("Can I refill Metformin?", "אפשר לנפק מטפורמין?"),
                        ]
                        if state == "active"
                        else [],
                        "rows": [
                            [t("Strength", "חוזק"), t("850 mg", "850 מ״ג")],
                            [
                                t("Directions", "אופן הנטילה"),
                                t("1 tablet twice a day with meals", "טבליה אחת פעמיים ביום עם האוכל"),
                            ],
                            [t("Last filled", "נופק לאחרונה"), "28.10.2026"],
                            [t("Valid until", "בתוקף עד"), "25.02.2027"],
                        ],
                    }
                    for state, status in {
                        "active": t("Active", "פעיל"),
                        "expired": t("Expired", "לא בתוקף"),
                        "completed": t("Completed", "נוצל"),
                    }.items()
                ],
            },
        },
        {
            "kind": "identity",
            "data": {
                "title": t("Confirm that it is you", "אימות זהות"),
                "note": t("The code has 6 digits.", "הקוד בן 6 ספרות."),
            },
        },
        {
            "kind": "handoff",
            "data": {
                "title": t("Request H-1006", "פנייה H-1006"),
                "rows": [
                    [t("Status", "מצב"), t("Waiting for our staff", "ממתין לצוות")],
                    [t("Reason", "סיבה"), t("You asked for a person", "ביקשתם לדבר עם אדם")],
                ],
            },
        },
        {
            "kind": "sources",
            "data": {
                "title": t("Sources", "מקורות"),
                "items": [
                    {
                        "title": t("Product leaflet", "עלון לצרכן"),
                        "text": t("Storage", "אחסון"),
                        "date": "25.07.2026",
                    },
                    {
                        "title": t("Can I split tablets in half?", "אפשר לחצות כדור?"),
                        "text": "U.S. FDA: Tablet splitting",
                    },
                    {
                        "title": t("What is a recall?", "מה זה ריקול?"),
                        "text": "https://www.example.org/medicines/recalls-and-what-to-do-about-them",
                    },
                ],
                "words": words,
            },
        },
    ]


def handoff(lang: str, number: str = "H-1006") -> Card:
    """Return the content of the event of a hand-off that waits, with every row."""
    if lang == "he":
        rows = [
            [
                "מענה אנושי",
                "החל מיום ראשון ב-\u206608:00\u2069, עם פתיחת סניף רמת אביב, תל אביב; כל הסניפים סגורים עכשיו.",
            ],
            ["מה קורה עכשיו", "הצוות שלנו קורא את השיחה ומטפל בפנייה."],
            ["בטלפון", "רמת אביב, תל אביב, \u206603-555-0101\u2069"],
            ["סיבה", "ביקשתם לדבר עם אדם"],
        ]
        hear = [
            "איך נעדכן אתכם",
            "בשיחה הזאת; הצוות יכול גם לכתוב בדוא״ל אל \u2068d…\u2060@example.com\u2069.",
        ]
        words = {
            "queue": "ממתינה, שתי פניות לפניכם",
            "message": "אפשר לסגור את הדף: הפנייה נשארת אצלנו תחת המספר שלה.",
        }
    else:
        rows = [
            [
                "A person answers",
                "From Sunday at 08:00, when Ramat Aviv, Tel Aviv opens; all branches are closed now.",
            ],
            ["What happens next", "Our staff read this conversation and deal with your request."],
            ["By phone", "Ramat Aviv, Tel Aviv, 03-555-0101"],
            ["Reason", "You asked for a person"],
        ]
        hear = [
            "You hear from us",
            "In this chat; our staff can also write by email to d…\u2060@example.com.",
        ]
        words = {
            "queue": "Waiting, 2 before you",
            "message": "You may close this page: the request stays with us under its number.",
        }
    return {"number": number, "state": "open", "lang": lang, "rows": rows, "contact": hear, **words}


# What a text may try; as every field of every card and as a message it is shown letter by letter.
PAYLOADS = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg onload=alert(1)>",
    "<svg><script>alert(1)</script></svg>",
    "<iframe src=javascript:alert(1)></iframe>",
    "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
    "<a href=javascript:alert(1)>x</a>",
    "<a href='jAvAsCrIpT:alert(1)'>x</a>",
    "<a href='data:text/html,<script>alert(1)</script>'>x</a>",
    "<body onload=alert(1)>",
    "<details open ontoggle=alert(1)>",
    "<input autofocus onfocus=alert(1)>",
    "<select autofocus onfocus=alert(1)>",
    "<video><source onerror=alert(1)></video>",
    "<audio src=x onerror=alert(1)>",
    "<object data=javascript:alert(1)>",
    "<embed src=javascript:alert(1)>",
    "<form action=javascript:alert(1)><button>go</button></form>",
    "<button formaction=javascript:alert(1)>go</button>",
    "<math><mi xlink:href=javascript:alert(1)>x</mi></math>",
    "<style>@import 'https://evil.example/x.css';</style>",
    "<link rel=stylesheet href=https://evil.example/x.css>",
    "<meta http-equiv=refresh content='0;url=https://evil.example'>",
    "<base href=https://evil.example/>",
    "<template><script>alert(1)</script></template>",
    "<noscript><p title='</noscript><img src=x onerror=alert(1)>'>",
    "<!--><img src=x onerror=alert(1)>-->",
    "<![CDATA[<img src=x onerror=alert(1)>]]>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    '" autofocus onfocus="alert(1)',
    "javascript:alert(1)",
    "JaVaScRiPt:alert(document.domain)",
    'tel:0" onclick="alert(1)',
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "&#60;img src=x onerror=alert(1)&#62;",
    "\u202e<img src=x onerror=alert(1)>\u202c",
    "\u2068<svg/onload=alert(1)>\u2069",
    "{{constructor.constructor('alert(1)')()}}",
    "${alert(1)}",
    "[x](javascript:alert(1))",
    "![x](https://evil.example/x.png)",
    "<img src=https://evil.example/x.png>",
    "__proto__",
]
