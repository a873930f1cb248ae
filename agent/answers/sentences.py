"""The sentences that `render.py` renders: key → (English, Hebrew). Data only."""

from typing import Final

from agent.answers.emergency_sentences import EMERGENCY_SENTENCES

SENTENCES: Final[dict[str, tuple[str, str]]] = {
    **EMERGENCY_SENTENCES,
    # -- talk -----------------------------------------------------------------------------------------------
    "greeting": (
        "Hello! I can tell you about medicines, stock in our branches and your prescriptions. What would you like to know?",
        "שלום! אפשר לשאול אותי על תרופות, על המלאי בסניפים ועל המרשמים שלכם. מה תרצו לדעת?",
    ),
    "thanks": ("You're welcome. Anything else I can check for you?", "בשמחה. לבדוק עבורכם עוד משהו?"),
    "bye": ("Goodbye, and take care.", "להתראות, ושיהיה יום טוב."),
    "help": (
        "I can look up facts about a medicine, whether a prescription is needed, stock at each branch, identical equivalents, "
        "interactions on file, opening hours, and – after a code – your prescriptions and refills. "
        "I don't give medical advice; a pharmacist can.",
        "אפשר לבדוק איתי מידע על תרופה, אם נדרש מרשם, מלאי בכל סניף, תכשירים זהים, אינטראקציות רשומות, שעות פתיחה, "
        "ואחרי אימות בקוד – את המרשמים והניפוקים שלכם. ייעוץ רפואי איני נותן; לשם כך יש רוקח או רוקחת.",
    ),
    "who": (
        "I'm an automated assistant of the pharmacy: not a pharmacist, not a doctor, not a person. I share product and stock facts, "
        "not medical advice. A person is one message away.",
        "אני עוזר דיגיטלי של בית המרקחת: לא רוקח, לא רופא ולא אדם. אני מוסר מידע על מוצרים ומלאי ואיני נותן ייעוץ רפואי. "
        "אפשר תמיד לבקש לדבר עם אדם.",
    ),
    "language": (
        "Of course, we can go on in English. What would you like to know?",
        "בוודאי, נמשיך בעברית. מה תרצו לדעת?",
    ),
    "cancelled": ("All right. What else can I check for you?", "בסדר גמור. מה עוד לבדוק עבורכם?"),
    "what_refill": (
        "A refill is a further supply of a medicine on a prescription that is still valid. "
        "To check one, write “my prescriptions”; a code then goes to the contact on file.",
        "ניפוק הוא קבלת התרופה, או אספקה נוספת שלה, לפי מרשם שעדיין בתוקף. "
        "כדי לבדוק, כתבו ”המרשמים שלי“, וקוד יישלח לפרטי הקשר הרשומים אצלנו.",
    ),
    "declined": ("All right. Tell me if you change your mind.", "בסדר. אם תשנו את דעתכם, כתבו לי."),
    "declined_name": (
        "All right. What is the name on the package?",
        "בסדר. מה השם שכתוב על האריזה?",
    ),
    "nothing_asked": (
        "Tell me which medicine or branch it is about.",
        "כתבו לי על איזו תרופה או איזה סניף מדובר.",
    ),
    "unknown_1": (
        "I'm not sure I understood. You can ask about a medicine, stock at a branch, or your prescriptions.",
        "לא בטוח שהבנתי. אפשר לשאול על תרופה, על מלאי בסניף או על המרשמים שלכם.",
    ),
    "unknown_2": (
        "Sorry, I still didn't get that. Try the name of the medicine, for example “Do you have Advil in Jaffa?”",
        "סליחה, עדיין לא הבנתי. אפשר לכתוב את שם התרופה, למשל: ”יש לכם אדוויל ביפו?“",
    ),
    "unknown_3": (
        "I haven't understood, and I don't want to guess. Shall I pass you on to a pharmacist?",
        "לא הצלחתי להבין, ואיני רוצה לנחש. להעביר אתכם לרוקח או לרוקחת?",
    ),
    "out_of_scope": (
        "That is outside what I can answer: I know our medicines, stock and prescriptions.",
        "על כך איני יכול לענות: אני מכיר את התרופות, המלאי והמרשמים שלנו.",
    ),
    "health": (
        "I can't answer general health questions. A pharmacist can help: shall I pass you on?",
        "איני יכול לענות על שאלות בריאות כלליות. רוקח או רוקחת יוכלו לעזור. להעביר אתכם?",
    ),
    "upset": (
        "I'm sorry this isn't helping. Shall I pass you on to a person?",
        "מצטער שלא הצלחתי לעזור. להעביר אתכם לאדם מהצוות?",
    ),
    "is_anybody_there": (
        "I'm here: the pharmacy's digital assistant. Shall I pass you on to a person?",
        "אני כאן: העוזר הדיגיטלי של בית המרקחת. להעביר אתכם לאדם מהצוות?",
    ),
    "offer_person": (
        "A pharmacist can help with this. Shall I pass you on?",
        "רוקח או רוקחת יוכלו לעזור בכך. להעביר אתכם?",
    ),
    "basic_mode": (
        "I'm in basic mode for now: I understand simple questions, one at a time.",
        "אני פועל כרגע במצב בסיסי ומבין שאלות פשוטות, אחת בכל פעם.",
    ),
    "which_medicine": ("Which medicine is it about?", "על איזו תרופה מדובר?"),
    "which_other_medicine": (
        "With which other medicine? Give me the names and I'll check our data.",
        "עם איזו תרופה נוספת? כתבו את השמות ואבדוק בנתונים שלנו.",
    ),
    "which_of_these": ("Which one do you mean?", "למי מהן התכוונתם?"),
    "ask_what": (
        "What would you like to know about {name}: facts, stock, or whether it needs a prescription?",
        "מה תרצו לדעת על {name}: מידע, מלאי, או אם נדרש מרשם?",
    ),
    "sure_name": ("Do you mean {name}?", "האם התכוונתם ל{name}?"),
    "apology": (
        "I can't give a checked answer to this right now. A pharmacist can help: shall I pass you on?",
        "איני יכול לתת על כך תשובה בדוקה כרגע. רוקח או רוקחת יוכלו לעזור. להעביר אתכם?",
    ),
    "data_error": (
        "I can't read our data at the moment. Please try again in a minute, or ask for a person.",
        "איני מצליח לקרוא את הנתונים כרגע. נסו שוב בעוד דקה, או בקשו לדבר עם אדם.",
    ),
    # -- what it does not do --------------------------------------------------------------------------------
    "refuse_1": (
        "I can't say what is right for you. A pharmacist can help: shall I pass you on?",
        "איני יכול לומר מה מתאים לכם. רוקח או רוקחת יוכלו לעזור. להעביר אתכם?",
    ),
    "refuse_2": (
        "I can't give medical advice, but a pharmacist or doctor can. Shall I pass you on to a pharmacist?",
        "איני נותן ייעוץ רפואי, אבל רוקח או רופא יכולים לייעץ. להעביר אתכם לרוקח או לרוקחת?",
    ),
    "refuse_3": (
        "That needs someone who can look at your situation: a pharmacist or a doctor. I can only share facts.",
        "לכך נדרש מי שמכיר את מצבכם: רוקח או רופא. אני יכול למסור עובדות בלבד.",
    ),
    # -- the knowledge base outside the chat -----------------------------------------------------------------
    "knowledge_nothing": (
        "There is no reviewed answer to this question.",
        "אין לנו תשובה בדוקה לשאלה הזו.",
    ),
    "knowledge_unavailable": (
        "The stored answers cannot be searched right now. Please try again in a minute.",
        "אי אפשר לחפש כרגע בתשובות השמורות. נסו שוב בעוד דקה.",
    ),
    # -- the knowledge base in the chat ------------------------------------------------------------------------
    "knowledge_stored": (
        "I can't put an answer together right now. These are stored answers, word for word:",
        "כרגע איני יכול להרכיב תשובה. אלה תשובות שמורות, מילה במילה:",
    ),
    "knowledge_source": ("Source: {source}.", "מקור: {source}."),
    "knowledge_found_nothing": (
        "I found no reviewed answer to that in our knowledge base. A pharmacist can help: shall I pass you on?",
        "לא מצאתי על כך תשובה בדוקה במאגר הידע שלנו. רוקח או רוקחת יוכלו לעזור: להעביר אתכם?",
    ),
    "knowledge_near": (
        "I have no reviewed answer to exactly that. Is it one of the questions below? If not, a pharmacist can help: shall I pass"
        " you on?",
        "אין לי תשובה בדוקה בדיוק על כך. האם זו אחת השאלות שלמטה? אם לא, רוקח או רוקחת יוכלו לעזור: להעביר אתכם?",
    ),
    "knowledge_unreachable": (
        "Our knowledge base can't be searched right now. Please ask again in a minute, or ask a pharmacist: shall I pass you on?",
        "אי אפשר לחפש כרגע במאגר הידע שלנו. אפשר לשאול שוב בעוד דקה, או לשאול רוקח או רוקחת: להעביר אתכם?",
    ),
    "chat_closed": (
        "The chat is closed at the moment. Please call a branch, or come in.",
        "הצ'אט סגור כרגע. אפשר להתקשר לסניף או להגיע אליו.",
    ),
    "urgent_line": ("If this is urgent, call {medical}.", "אם זה דחוף, התקשרו ל-{medical}."),
    "refuse_comparison": (
        "I can't say which medicine is better. A pharmacist can help with that: shall I pass you on?",
        "איני יכול לומר איזו תרופה טובה יותר. רוקח או רוקחת יוכלו לעזור. להעביר אתכם?",
    ),
    "refuse_dose": (
        "I can't work out a dose for a person. A pharmacist or doctor can; I can quote what the leaflet says.",
        "איני יכול לקבוע מינון לאדם מסוים. רוקח או רופא יכולים; אני יכול לצטט מה כתוב בעלון.",
    ),
    "refuse_diagnosis": (
        "I can't tell what you have. A doctor or pharmacist can look into it: shall I pass you on to a pharmacist?",
        "איני יכול לקבוע ממה אתם סובלים. רופא או רוקח יוכלו לבדוק. להעביר אתכם לרוקח או לרוקחת?",
    ),
    "refuse_push": (
        "I don't recommend what to buy. I can list what we have, and a pharmacist can advise you.",
        "איני ממליץ מה לקנות. אני יכול להציג מה יש לנו, ורוקח או רוקחת יוכלו לייעץ.",
    ),
    # -- facts ----------------------------------------------------------------------------------------------
    "listed_as": ("{said} is listed with us as {name}.", "{said} רשום אצלנו בשם {name}."),
    "not_children": (
        "What we list under that name is {name}. No separate product for children is listed under it; see the age in the leaflet.",
        "התכשיר הרשום אצלנו בשם זה: {name}. לא רשום תחת שם זה תכשיר נפרד לילדים; הגיל המתאים כתוב בעלון.",
    ),
    "not_extended": (
        "What we list under that name is {name}. No extended-release product is listed under it.",
        "התכשיר הרשום אצלנו בשם זה: {name}. לא רשום תחת שם זה תכשיר בשחרור ממושך.",
    ),
    "maker_unknown": (
        "The manufacturer of {name} is not on file. It is printed on the package, and the branch can tell you.",
        "היצרן של {name} אינו רשום אצלנו. שמו מופיע על האריזה, ואפשר לברר בסניף.",
    ),
    "contains_one": (
        "{name} contains the active ingredient {ingredients}.",
        "{name} מכיל את החומר הפעיל {ingredients}.",
    ),
    "contains_many": (
        "{name} contains the active ingredients {ingredients}.",
        "{name} מכיל את החומרים הפעילים {ingredients}.",
    ),
    "contains_its_name": (
        "{name} is called by its active ingredient.",
        "{name} נקרא על שם החומר הפעיל שבו.",
    ),
    "category_of": ("{name} is listed under “{category}”.", "{name} רשום אצלנו תחת ”{category}“."),
    "product_pack": ("Pack: {size} {unit}.", "אריזה: {size} {unit}."),
    "pack_unknown": ("The pack size is not on file.", "גודל האריזה אינו רשום אצלנו."),
    "leaflet_use": ("Used for, according to the leaflet: {text}", "שימוש, לפי העלון: {text}"),
    "leaflet_dosage": ("Dosage, according to the leaflet: {text}", "מינון, לפי העלון: {text}"),
    "leaflet_dosage_adults": (
        "Dosage, according to the leaflet (adults): {text}",
        "מינון, לפי העלון (מבוגרים): {text}",
    ),
    "leaflet_warnings": ("Warnings, according to the leaflet: {text}", "אזהרות, לפי העלון: {text}"),
    "leaflet_says": (
        "{name} – {section}. According to the leaflet: {text}",
        "{name} – {section}. לפי העלון: {text}",
    ),
    "leaflet_says_adults": (
        "{name} – {section}. According to the leaflet (adults): {text}",
        "{name} – {section}. לפי העלון (מבוגרים): {text}",
    ),
    "leaflet_silent": (
        "The leaflet text we have for {name} says nothing about {section}. A pharmacist can help with that.",
        "בטקסט העלון שיש לנו על {name} אין מידע בנושא {section}. רוקח או רוקחת יוכלו לעזור.",
    ),
    "no_leaflet": (
        "There is no leaflet text on file for {name}. A pharmacist can help.",
        "אין אצלנו טקסט עלון של {name}. רוקח או רוקחת יוכלו לעזור.",
    ),
    "source": ("Source: {source}, updated {date}.", "מקור: {source}, עודכן {date}."),
    "rx_yes": ("{name} requires a prescription.", "{name} ניתן במרשם בלבד."),
    "rx_no": (
        "{name} does not require a prescription (over the counter, OTC).",
        "{name} אינו דורש מרשם (ללא מרשם, OTC).",
    ),
    "rx_note": ("Note: {name} requires a prescription.", "שימו לב: {name} ניתן במרשם בלבד."),
    "otc_note": (
        "This medication is available over-the-counter (no prescription needed).",
        "התכשיר נמכר ללא מרשם.",
    ),
    "price": ("The price on file for {name} is ₪{price}.", "המחיר הרשום של {name} הוא ₪{price}."),
    "price_none": (
        "There is no price on file for {name}. Please ask the branch.",
        "אין אצלנו מחיר רשום של {name}. נא לשאול בסניף.",
    ),
    "strength_of": ("The strength of {name} is {strength}.", "החוזק של {name} הוא {strength}."),
    "strength_unknown": (
        "The strength of {name} is not on file.",
        "החוזק של {name} אינו רשום אצלנו.",
    ),
    "form_of": ("{name} comes as: {form}.", "צורת המתן של {name}: {form}."),
    # -- names ----------------------------------------------------------------------------------------------
    "not_found": (
        "I couldn't find a medication named “{query}”. Please check the spelling or try another name.",
        "לא מצאתי תרופה בשם ”{query}“. בדקו את האיות או נסו שם אחר.",
    ),
    "offered_name": ("I assume that you mean {name}.", "הבנתי שהכוונה ל{name}."),
    "did_you_mean": ("Did you mean {name}?", "האם התכוונתם ל{name}?"),
    "did_you_mean_one_of": ("Did you mean one of these?", "האם התכוונתם לאחת מאלה?"),
    "ambiguous": (
        "I found several medications for “{query}”. Which one do you mean?",
        "מצאתי כמה תרופות עבור ”{query}“. לאיזו התכוונתם?",
    ),
    "more_exist": (
        "There are more; the form or strength narrows it down.",
        "יש עוד; ציון צורה או חוזק יצמצם את הרשימה.",
    ),
    # -- stock ----------------------------------------------------------------------------------------------
    "controlled_stock": (
        "{name} is a controlled medicine; please contact the branch about its stock.",
        "{name} היא תרופה בפיקוח; לבירור המלאי נא לפנות לסניף.",
    ),
    "out_of_stock": ("{name} is currently out of stock.", "{name} אינו במלאי כרגע."),
    "out_of_stock_at": ("{name} is out of stock at {store}.", "{name} אינו במלאי ב{store}."),
    "out_of_stock_online": (
        "{name} is out of stock in our online store.",
        "{name} אינו במלאי בחנות המקוונת.",
    ),
    "out_of_stock_city": (
        "{name} is out of stock in our branches in {city}.",
        "{name} אינו במלאי בסניפים שלנו ב{city}.",
    ),
    "restock": ("Expected restock date: {date}.", "צפי חזרה למלאי: {date}."),
    "restock_none": ("There is no restock date on file.", "אין צפי רשום לחזרה למלאי."),
    "stock_note": (
        "Stock as of {time}; it is not reserved.",
        "המלאי נכון לשעה {time}, ואינו שמור עבורכם.",
    ),
    "no_inventory": (
        "I don't have inventory information for {name}.",
        "אין לי מידע על המלאי של {name}.",
    ),
    "branches_with": ("Branches that have it:", "סניפים שבהם הוא נמצא:"),
    "branches_nearest": ("Branches that have it, nearest first:", "סניפים שבהם הוא נמצא, מהקרוב לרחוק:"),
    "branches_all": ("Stock by branch:", "מלאי לפי סניף:"),
    "branches_city": ("{name} in our branches in {city}:", "{name} בסניפים שלנו ב{city}:"),
    "share_location": (
        "Share your location or name a place, and I'll sort by distance.",
        "שתפו מיקום או כתבו שם של מקום, ואמיין לפי מרחק.",
    ),
    "km": ("{km} km", "{km} ק״מ"),
    "open_now": ("open now until {time}", "פתוח עכשיו עד {time}"),
    "open_now_plain": ("open now", "פתוח עכשיו"),
    "closed_now": ("closed now", "סגור עכשיו"),
    "listed_at": ("Of the products listed, at {store}:", "מתוך המוצרים ברשימה, ב{store}:"),
    "none_left": ("none", "אין"),
    "branch_short": (
        "{name} is in stock{where} at one branch: {store} ({details}).",
        "{name} במלאי{where} בסניף אחד: {store} ({details}).",
    ),
    "branches_short": (
        "{name} is in stock{where} at {number} branches, for example {store} ({details}).",
        "{name} במלאי{where} ב{number} סניפים, למשל {store} ({details}).",
    ),
    "branches_short_nearest": (
        "{name} is in stock{where} at {number} branches; the nearest is {store} ({details}).",
        "{name} במלאי{where} ב{number} סניפים; הקרוב ביותר: {store} ({details}).",
    ),
    "list_short": ("{head} {number} products{stock}.", "{head} {number} תכשירים{stock}."),
    "equivalent_short": (
        "One product has the same active ingredients, strength and form as {name}: {line}.",
        "לתכשיר אחד אותם חומרים פעילים, אותו חוזק ואותה צורת מתן כמו ל{name}: {line}.",
    ),
    "equivalents_short": (
        "{number} products have the same active ingredients, strength and form as {name}{stock}.",
        "ל{number} תכשירים אותם חומרים פעילים, אותו חוזק ואותה צורת מתן כמו ל{name}{stock}.",
    ),
    "equivalents_rx": ("A prescription is required for {names}.", "נדרש מרשם עבור {names}."),
    "in_city": ("in {city}", "ב{city}"),
    "in_store": ("at {store}", "ב{store}"),
    "of_them_all": (", all of them in stock{at}", ", כולם במלאי{at}"),
    "of_them_some": (", some of them in stock{at}", ", חלקם במלאי{at}"),
    "of_them_none": (", none of them in stock{at}", ", אף אחד מהם אינו במלאי{at}"),
    "of_them_there": ("; in stock{at}: {names}", "; במלאי{at}: {names}"),
    "of_them_rest_all": ("; other stores have the rest", "; את השאר יש בחנויות אחרות"),
    "of_them_rest_some": ("; other stores have some of the rest", "; חלק מהשאר יש בחנויות אחרות"),
    "of_them_elsewhere_all": ("; other stores have all of them", "; בחנויות אחרות יש את כולם"),
    "of_them_elsewhere_some": ("; other stores have some of them", "; בחנויות אחרות יש את חלקם"),
    "ask_branch": ("contact the branch", "לבירור בסניף"),
    "city_not_served": ("We don’t have stores in {city}.", "אין לנו סניפים ב{city}."),
    "nearest_branch": (
        "The nearest branch is {store}, about {km} km away.",
        "הסניף הקרוב ביותר הוא {store}, במרחק של כ-{km} ק״מ.",
    ),
    "units_everywhere": ("{units} in all our stores together", "{units} בסך הכול בכל החנויות שלנו"),
    "units_there": ("{store}: {units}; {everywhere}", "{store}: {units}; {everywhere}"),
    "online_store": ("our online store", "החנות המקוונת"),
    "at_distance": ("{text}, {km} km away.", "{text}, במרחק {km} ק״מ."),
    "restock_at": (
        "{name} is expected back at {store} on {date}.",
        "{name} צפוי לחזור למלאי ב{store} ב-{date}.",
    ),
    "branches_none_of": (
        "None of our branches has {name} at the moment.",
        "כרגע אין {name} באף סניף שלנו.",
    ),
    "hours_of": ("{store}: {hours}.", "{store}: {hours}."),
    "address_of": ("{store} is at {address}.", "הכתובת של {store}: {address}."),
    "nearest_stocked": (
        "The nearest branch that has {name} is {store}, about {km} km away.",
        "הסניף הקרוב ביותר שבו יש {name} הוא {store}, במרחק של כ-{km} ק״מ.",
    ),
    "near_place": ("Did you mean {name}?", "האם התכוונתם ל{name}?"),
    "elsewhere": ("Elsewhere:", "במקומות אחרים:"),
    "no_reservation": (
        "I can't order or reserve. The branch can help.",
        "איני יכול להזמין או לשריין. אפשר לפנות לסניף.",
    ),
    "matches_head": ("These match “{query}”:", "אלה מתאימים ל”{query}“:"),
    "matches_ask": ("Which one do you mean?", "לאיזה מהם התכוונתם?"),
    "category_none": ("We list nothing of that kind.", "אין ברשימה שלנו תכשירים מהסוג הזה."),
    "other_form": (
        "We don't list it in that form or strength. What we list:",
        "בצורה או בחוזק האלה הוא אינו ברשימה שלנו. מה שיש ברשימה:",
    ),
    "category_head": ("Listed with us under “{category}”:", "רשומים אצלנו תחת ”{category}“:"),
    "category_note": (
        "The list is in no order of preference.",
        "הרשימה אינה לפי סדר עדיפות.",
    ),
    # -- equivalents ----------------------------------------------------------------------------------------
    "equivalents_head": (
        "Products with the same active ingredients, strength and form as {name}:",
        "תכשירים עם אותם חומרים פעילים, אותו חוזק ואותה צורת מתן כמו {name}:",
    ),
    "disclosure": (
        "They are equal in active ingredients, strength and form. Possible differences: price, inactive ingredients, packaging.",
        "הם זהים בחומרים הפעילים, בחוזק ובצורת המתן. הבדלים אפשריים: מחיר, חומרים לא פעילים, אריזה.",
    ),
    "pharmacist_only": (
        "For {name} a pharmacist decides about any replacement.",
        "לגבי {name}, רק רוקח או רוקחת מחליטים על החלפה.",
    ),
    "no_equivalents": (
        "No identical equivalent of {name} is on file. The pharmacy staff can help.",
        "אין אצלנו תכשיר זהה ל{name}. צוות בית המרקחת יוכל לעזור.",
    ),
    # -- interactions ---------------------------------------------------------------------------------------
    "pair_avoid": (
        "{a} and {b} cannot be taken together according to our data. Speak to a pharmacist or doctor before taking them "
        "together or changing any treatment.",
        "לפי הנתונים שלנו אסור ליטול יחד את {a} ואת {b}. יש לשוחח עם רוקח או רופא לפני נטילה משולבת או שינוי כלשהו בטיפול.",
    ),
    "pair_caution": (
        "{a} and {b}: our data lists a caution. Speak to a pharmacist or doctor before taking them together.",
        "{a} ו{b}: בנתונים שלנו רשומה אזהרה. יש לשוחח עם רוקח או רופא לפני נטילה משולבת.",
    ),
    "pair_same": (
        "{a} and {b} both contain {ingredients}. Speak to a pharmacist or doctor before taking both.",
        "{a} ו{b} מכילים שניהם {ingredients}. יש לשוחח עם רוקח או רופא לפני נטילת שניהם.",
    ),
    "interaction_none": (
        "For {names} our data lists no interaction; that does not mean it is safe. A pharmacist can check.",
        "עבור {names} אין בנתונים שלנו אינטראקציה רשומה; אין פירוש הדבר שהשילוב בטוח. רוקח או רוקחת יכולים לבדוק.",
    ),
    "interaction_unknown": (
        "I can't assess interactions for {names}: our data does not cover it. Please ask a pharmacist or doctor.",
        "איני יכול לבדוק אינטראקציות עבור {names}: הנתונים שלנו אינם מכסים זאת. נא לשאול רוקח או רופא.",
    ),
    "medicine_mentioned": ("the medicine that you mentioned", "התרופה שציינתם"),
    "interaction_partly": (
        "Not everything could be assessed: {names}. Please ask a pharmacist about it.",
        "לא ניתן היה לבדוק הכול: {names}. נא לשאול על כך רוקח או רוקחת.",
    ),
    "interaction_too_many": (
        "There are too many medicines to check all of them against those that are taken. Please ask a pharmacist about the rest.",
        "יש יותר מדי תרופות לבדיקה של כולן מול אלה שנלקחות. נא לשאול רוקח או רוקחת על השאר.",
    ),
    # -- allergies ------------------------------------------------------------------------------------------
    "allergy_noted": (
        "Noted for this conversation: an allergy to {names}. What comes up here is compared with it as far as our data goes; "
        "please also tell the pharmacist.",
        "רשמתי לשיחה הזו: אלרגיה ל{names}. מה שיעלה כאן ייבדק מולה ככל שהנתונים שלנו מאפשרים; נא לומר זאת גם לרוקח או לרוקחת.",
    ),
    "allergy_said": ("You mentioned an allergy to {allergen}.", "ציינתם אלרגיה ל{allergen}."),
    "allergy_file": ("An allergy to {allergen} is on your file.", "בתיק שלכם רשומה אלרגיה ל{allergen}."),
    "allergy_listed": (
        "About another medicine on your list, {name}:",
        "לגבי תרופה אחרת ברשימה שלכם, {name}:",
    ),
    "allergy_ingredient": (
        "{name} contains {detail}. Speak to a pharmacist or doctor before it is taken.",
        "{name} מכיל {detail}. יש לשוחח עם רוקח או רופא לפני הנטילה.",
    ),
    "allergy_group": (
        "{name} belongs to that group. Speak to a pharmacist or doctor before it is taken.",
        "{name} שייך לקבוצה הזו. יש לשוחח עם רוקח או רופא לפני הנטילה.",
    ),
    "allergy_class": (
        "{name} belongs to the same group: {detail}. Speak to a pharmacist or doctor before it is taken.",
        "{name} שייך לאותה קבוצה: {detail}. יש לשוחח עם רוקח או רופא לפני הנטילה.",
    ),
    "allergy_related": (
        "{name} belongs to a related group: {detail}. A pharmacist can say what that means.",
        "{name} שייך לקבוצה קרובה: {detail}. רוקח או רוקחת יכולים לומר מה המשמעות.",
    ),
    "allergy_unchecked": (
        "An allergy to {names} cannot be checked here. Please ask a pharmacist before a medicine is taken.",
        "איני יכול לבדוק כאן אלרגיה ל{names}. נא לשאול רוקח או רוקחת לפני נטילת תרופה.",
    ),
    "allergy_partly": (
        "Our data was not enough to check allergies for {names}. Please ask a pharmacist about it.",
        "הנתונים שלנו לא הספיקו לבדיקת אלרגיות עבור {names}. נא לשאול על כך רוקח או רוקחת.",
    ),
    "allergy_error": (
        "Allergies could not be checked right now. Please ask a pharmacist before a medicine is taken.",
        "לא ניתן היה לבדוק אלרגיות כרגע. נא לשאול רוקח או רוקחת לפני נטילת תרופה.",
    ),
    "allergen_other": ("another substance", "חומר אחר"),
    "same_yes": (
        "{a} and {b} contain the same active ingredients: {ingredients}.",
        "{a} ו{b} מכילים אותם חומרים פעילים: {ingredients}.",
    ),
    "same_yes_one": (
        "{a} and {b} contain the same active ingredient: {ingredients}.",
        "{a} ו{b} מכילים אותו חומר פעיל: {ingredients}.",
    ),
    "same_no": (
        "{a} contains {first}; {b} contains {second}. They are not the same.",
        "{a} מכיל {first}; {b} מכיל {second}. הם אינם זהים.",
    ),
    "same_one": ("{a} and {b} are the same product here: {name}.", "{a} ו{b} הם אותו תכשיר אצלנו: {name}."),
    # -- branches -------------------------------------------------------------------------------------------
    "branch_line": (
        "{store}: {hours}. Phone {phone}. {address}",
        "{store}: {hours}. טלפון {phone}. {address}",
    ),
    "branch_phone": ("{store}: {phone}.", "{store}: {phone}."),
    "branches_by_distance": ("Our branches, nearest first:", "הסניפים שלנו, מהקרוב לרחוק:"),
    "branches_list": ("Our branches:", "הסניפים שלנו:"),
    "hours_today": ("open today {hours}", "פתוח היום {hours}"),
    "hours_on": ("{day}: {hours}", "{day}: {hours}"),
    "opens_today": ("closed now, opens at {time}", "סגור עכשיו, ייפתח ב-{time}"),
    "opens_on": ("closed now, opens {day} at {time}", "סגור עכשיו, ייפתח ב{day} ב-{time}"),
    "closed_today": ("closed today", "סגור היום"),
    "closed_on": ("{day}: closed", "{day}: סגור"),
    "hours_unknown": ("no opening hours on file", "אין שעות פתיחה רשומות"),
    "online_hours": (
        "The online store takes orders on the website at any hour.",
        "החנות המקוונת פתוחה באתר בכל שעה.",
    ),
    # -- identity -------------------------------------------------------------------------------------------
    "ask_identifier": (
        "I'll need your email or phone number to look up your prescriptions. A code will go to the contact on file.",
        "כדי לבדוק את המרשמים אצטרך את כתובת הדוא״ל או מספר הטלפון שלכם. קוד יישלח לפרטי הקשר הרשומים אצלנו.",
    ),
    "ask_identifier_plain": (
        "I'll need your email or phone number to look up your prescriptions.",
        "כדי לבדוק את המרשמים אצטרך את כתובת הדוא״ל או מספר הטלפון שלכם.",
    ),
    "ask_identifier_other": (
        "For another person I can only send a code to that person's own contact on file: give their email or phone number, "
        "or ask for a pharmacist.",
        "עבור אדם אחר אפשר לשלוח קוד רק לפרטי הקשר הרשומים שלו: כתבו את הדוא״ל או הטלפון שלו, או בקשו לדבר עם רוקח.",
    ),
    "code_sent": (
        "If the details match a registered customer, we've sent a code to the contact on file. Please enter it here; it is good for 5 minutes.",
        "אם הפרטים תואמים ללקוח רשום, שלחנו קוד לפרטי הקשר הרשומים אצלנו. נא להקליד אותו כאן; הוא תקף ל-5 דקות.",
    ),
    "code_limited": (
        "Too many codes were asked for. Please try again {when}, or ask for a pharmacist.",
        "התבקשו יותר מדי קודים. נסו שוב {when}, או בקשו לדבר עם רוקח.",
    ),
    "code_expired": (
        "That code is no longer valid. Give your email or phone number again and I'll send a new one.",
        "הקוד כבר אינו בתוקף. כתבו שוב דוא״ל או מספר טלפון ואשלח קוד חדש.",
    ),
    "code_locked": (
        "The code was wrong too often, so I've passed you on to our staff. Your number is {number}.",
        "הקוד היה שגוי יותר מדי פעמים, ולכן העברתי את הפנייה לצוות. מספר הפנייה הוא {number}.",
    ),
    "code_waiting": (
        "Please enter the 6-digit code that was sent, or give your email or phone number again for a new one.",
        "נא להקליד את הקוד בן 6 הספרות שנשלח, או לכתוב שוב דוא״ל או טלפון כדי לקבל קוד חדש.",
    ),
    "ask_identifier_birth": (
        "I'll need your email, phone or medical record number to look up your prescriptions, and then your date of birth.",
        "כדי לבדוק את המרשמים אצטרך דוא״ל, מספר טלפון או מספר תיק רפואי, ולאחר מכן את תאריך הלידה שלכם.",
    ),
    "birth_other": (
        "For another person, only a pharmacist can help: I cannot show prescriptions by that person's date of birth.",
        "עבור אדם אחר רק רוקח יכול לעזור: אי אפשר להציג מרשמים לפי תאריך הלידה שלו.",
    ),
    "birth_asked": (
        "Thank you. Please give your date of birth: day, month and year. If it matches a registered customer, I'll go on.",
        "תודה. נא לכתוב את תאריך הלידה: יום, חודש ושנה. אם הוא תואם ללקוח רשום, נמשיך.",
    ),
    "birth_limited": (
        "There were too many tries. Please try again {when}, or ask for a pharmacist.",
        "היו יותר מדי ניסיונות. נסו שוב {when}, או בקשו לדבר עם רוקח.",
    ),
    "birth_expired": (
        "The time for that is over. Give your email, phone or medical record number again, and then your date of birth.",
        "הזמן לכך עבר. כתבו שוב דוא״ל, טלפון או מספר תיק רפואי, ולאחר מכן את תאריך הלידה.",
    ),
    "birth_unreadable": (
        "I couldn't read that as one date of birth. Please write day, month and the year in full, with the month by name if you like.",
        "לא הצלחתי לקרוא זאת כתאריך לידה אחד. נא לכתוב יום, חודש ושנה מלאה; אפשר לכתוב את החודש במילים.",
    ),
    "birth_locked": (
        "The date of birth did not match too often, so I've passed you on to our staff. Your number is {number}.",
        "תאריך הלידה לא התאים יותר מדי פעמים, ולכן העברתי את הפנייה לצוות. מספר הפנייה הוא {number}.",
    ),
    "birth_waiting": (
        "Please give your date of birth (day, month and year), or your email, phone or medical record number again.",
        "נא לכתוב את תאריך הלידה (יום, חודש ושנה), או שוב דוא״ל, טלפון או מספר תיק רפואי.",
    ),
    "identity_elsewhere": (
        "To keep your details private, prescriptions are shown only on the pharmacy's own site. You can go on there in a "
        "new window; this conversation comes with you.",
        "כדי לשמור על פרטיותכם, מרשמים מוצגים רק באתר של בית המרקחת. אפשר להמשיך שם בחלון חדש, והשיחה תעבור אתכם.",
    ),
    "card_elsewhere": ("Continue on the pharmacy's own site", "המשך באתר של בית המרקחת"),
    "verified": ("Thank you, that's confirmed.", "תודה, האימות הושלם."),
    "no_account": (
        "I couldn't find an account with that email/phone. Please verify your information.",
        "לא מצאתי חשבון עם הדוא״ל או הטלפון האלה. נא לבדוק את הפרטים.",
    ),
    "logged_out": (
        "Done: I no longer know who you are in this conversation.",
        "בוצע: הזיהוי שלכם בשיחה זו נמחק.",
    ),
    # -- prescriptions --------------------------------------------------------------------------------------
    "prescriptions_none": ("You don't have any prescriptions on file.", "אין לכם מרשמים רשומים אצלנו."),
    "prescriptions_ask": (
        "Would you like to check the refill status for any of these?",
        "לבדוק אם אפשר לנפק אחד מהם?",
    ),
    "prescriptions_ask_one": (
        "Would you like to check whether it can be refilled?",
        "לבדוק אם אפשר לנפק אותו?",
    ),
    "refill_yes": (
        "Yes, your {name} prescription is eligible for refill.",
        "כן, ניתן לנפק את המרשם ל{name}.",
    ),
    "refill_early": (
        "{name} was filled on {filled}. The next refill is due from {date}; before that a pharmacist decides.",
        "{name} נופק ב-{filled}. אפשר לנפק שוב החל מ-{date}; לפני כן מחליטים רוקח או רוקחת.",
    ),
    "rx_expires": (
        "The prescription for {name} is valid until {date}.",
        "המרשם ל{name} בתוקף עד {date}.",
    ),
    "rx_expired_on": (
        "The prescription for {name} was valid until {date}.",
        "המרשם ל{name} היה בתוקף עד {date}.",
    ),
    "rx_issued": (
        "The prescription for {name} was issued on {date}.",
        "המרשם ל{name} ניתן ב-{date}.",
    ),
    "rx_filled": ("{name} was last filled on {date}.", "{name} נופק לאחרונה ב-{date}."),
    "rx_never_filled": (
        "No earlier filling of {name} is on file.",
        "לא רשום אצלנו ניפוק קודם של {name}.",
    ),
    "refill_note": (
        "Note: {name} requires a valid prescription. Please ensure your prescription is current before requesting a refill.",
        "שימו לב: {name} ניתן במרשם בתוקף בלבד. נא לוודא שהמרשם בתוקף לפני בקשת ניפוק.",
    ),
    "refill_completed": (
        "{name}: this prescription has been completed (0 refills remaining).",
        "{name}: המרשם נוצל במלואו (0 ניפוקים נותרו).",
    ),
    "refill_expired": (
        "{name}: this prescription has expired. Please consult your doctor for a new prescription.",
        "{name}: תוקף המרשם פג. נא לפנות לרופא לקבלת מרשם חדש.",
    ),
    "refill_none_left": ("{name}: no refills remaining.", "{name}: לא נותרו ניפוקים."),
    "refill_pending": (
        "{name}: a refill has already been requested.",
        "{name}: כבר נשלחה בקשה לניפוק.",
    ),
    "refill_staff": (
        "{name}: our staff must check this prescription. Please ask for a pharmacist.",
        "{name}: הצוות שלנו צריך לבדוק את המרשם. נא לבקש לדבר עם רוקח.",
    ),
    "refill_controlled": (
        "{name} is a controlled medicine: your doctor must issue a new prescription.",
        "{name} היא תרופה בפיקוח: הרופא צריך להנפיק מרשם חדש.",
    ),
    "rx_supply": (
        "One filling of {name} is for {days} days.",
        "ניפוק אחד של {name} מספיק ל-{days} ימים.",
    ),
    "no_such_prescription": (
        "I see no prescription for {name} on your file.",
        "לא מצאתי ברשומות שלכם מרשם ל{name}.",
    ),
    "no_prescription_found": ("I couldn't find that prescription.", "לא מצאתי את המרשם הזה."),
    "which_prescription": ("Which prescription do you mean?", "לאיזה מרשם התכוונתם?"),
    "verify_otc": (
        "{name} does not need a prescription, so no refill is needed.",
        "{name} נמכר ללא מרשם, ולכן אין צורך בניפוק.",
    ),
    "verify_ok": (
        "Your prescription for {name} is valid and eligible for a refill.",
        "המרשם שלכם ל{name} בתוקף וניתן לנפק אותו.",
    ),
    "verify_no": (
        "I can't go on with a refill of {name}: there is no valid prescription with refills on file. A doctor issues prescriptions.",
        "איני יכול להמשיך בניפוק {name}: אין מרשם בתוקף עם ניפוקים. מרשם ניתן על ידי רופא.",
    ),
    "verify_none": (
        "There is no prescription for {name} on your file. Do you have its details? A pharmacist can add it.",
        "אין ברשומות שלכם מרשם ל{name}. אם יש לכם פרטי מרשם, רוקח או רוקחת יוכלו להוסיף אותו.",
    ),
    "refill_offer": (
        "A pharmacist places the refill. Shall I pass you on?",
        "רוקח או רוקחת מבצעים את הניפוק. להעביר אתכם?",
    ),
    "refill_confirm": (
        "Please check the details of {names} and confirm below. Nothing is requested before that.",
        "נא לבדוק את הפרטים של {names} ולאשר למטה. עד אז שום דבר לא נשלח.",
    ),
    "refill_where": (
        "Where would you like to pick it up? These branches have enough in stock:",
        "איפה תרצו לאסוף? בסניפים האלה יש מלאי מספיק:",
    ),
    "refill_no_address": (
        "There is no delivery address on your file; a pharmacist can add one. Where would you like to pick it up?",
        "אין ברשומות שלכם כתובת למשלוח; רוקח או רוקחת יכולים להוסיף אותה. איפה תרצו לאסוף?",
    ),
    "refill_too_little": (
        "{store} does not have enough in stock for this refill.",
        "{store}: אין שם די מלאי לניפוק הזה.",
    ),
    "refill_elsewhere": (
        "Choose another branch that has enough, or name the same one again to wait for a pharmacist's decision:",
        "בחרו סניף אחר שיש בו מלאי מספיק, או כתבו שוב את אותו סניף כדי להמתין להחלטת רוקח:",
    ),
    "refill_nowhere": (
        "No branch has enough in stock at the moment. Name a branch, and a pharmacist decides how to go on.",
        "באף סניף אין כרגע מלאי מספיק. כתבו שם של סניף, ורוקח או רוקחת יחליטו איך להמשיך.",
    ),
    "refill_open_already": (
        "This refill is already requested. {said}",
        "הניפוק הזה כבר התבקש. {said}",
    ),
    "refill_sent_already": (
        "You have asked for this already. {said}",
        "כבר ביקשת את זה. {said}",
    ),
    "staff_answered": (
        "What you wrote was passed on to our staff, for your refill {numbers}.",
        "מה שכתבת הועבר לצוות שלנו, לגבי הניפוק {numbers}.",
    ),
    "refill_person_first": ("A pharmacist decides first", "רוקח או רוקחת מחליטים קודם"),
    "refill_gave_up": (
        "I could not find out where you want to pick it up, so I passed the request on to a person.",
        "לא הצלחתי להבין איפה תרצו לאסוף, לכן העברתי את הבקשה לאדם.",
    ),
    "refill_wanted": ("Do you want to refill {names}?", "לנפק {names}?"),
    "refill_wanted_any": ("Do you want to refill a prescription?", "לנפק מרשם?"),
    "refill_did_you_mean": (
        "I see no prescription for {name} on your file. Did you mean {other}?",
        "לא מצאתי ברשומות שלכם מרשם ל{name}. התכוונתם ל{other}?",
    ),
    "refill_which_of": (
        "I see no prescription for {name} on your file. Which of these do you mean?",
        "לא מצאתי ברשומות שלכם מרשם ל{name}. לאיזה מאלה התכוונתם?",
    ),
    "refill_which_own": (
        "There are several prescriptions for {name} on your file. Which one do you mean?",
        "יש ברשומות שלכם כמה מרשמים ל{name}. לאיזה מהם התכוונתם?",
    ),
    "refill_not_found_out": (
        "I could not find out which prescription you want to refill.",
        "לא הצלחתי להבין איזה מרשם תרצו לנפק.",
    ),
    "refill_unsure": (
        "I am not certain that I understood your refill request, so I passed it on to a person.",
        "לא ברור לי אם הבנתי נכון את בקשת הניפוק, לכן העברתי אותה לאדם.",
    ),
    "refill_none_meant": (
        "Then I do not know which prescription you mean. A pharmacist can look for it. Shall I pass you on?",
        "אם כך, לא ברור לי לאיזה מרשם התכוונתם. רוקח או רוקחת יכולים לבדוק. להעביר אתכם?",
    ),
    "refill_amount_whose": (
        "Nothing was changed in the quantities yet: please write for which medicine it is, for example “15 tablets of {name}”.",
        "הכמויות עוד לא שונו: נא לכתוב לאיזו תרופה הכוונה, למשל ״15 טבליות של {name}״.",
    ),
    "refill_of": ("{name}: {said}", "{name}: {said}"),
    "refills_none": (
        "You have no refill requests from the last two weeks.",
        "אין לכם בקשות ניפוק מהשבועיים האחרונים.",
    ),
    "cancel_confirm": (
        "Please confirm the cancellation below.",
        "נא לאשר למטה את הביטול.",
    ),
    "cancel_which": ("Which request shall I cancel?", "איזו בקשה לבטל?"),
    "cancel_nothing": (
        "There is no refill request that can still be cancelled.",
        "אין בקשת ניפוק שאפשר עוד לבטל.",
    ),
    "cancel_too_late": (
        "It can no longer be cancelled: the medicine is prepared. Please speak to the branch.",
        "כבר אי אפשר לבטל: התרופה הוכנה. נא לפנות לסניף.",
    ),
    "cancel_failed": (
        "I could not cancel it at the moment; the request stays as it is. Please try again in a minute.",
        "לא הצלחתי לבטל כרגע, והבקשה נשארה כפי שהיא. נסו שוב בעוד דקה.",
    ),
    "confirm_cancel": ("Cancel this refill?", "לבטל את הניפוק הזה?"),
    "confirm_cancel_yes": ("Yes, cancel it", "כן, לבטל"),
    "confirm_cancel_no": ("No, keep it", "לא, להשאיר"),
    "confirm_kept": ("All right, the refill stays as it is.", "בסדר, הניפוק נשאר כפי שהוא."),
    "delivery_on_file": ("Delivery to your address on file", "משלוח לכתובת הרשומה שלכם"),
    "units_for_days": ("{units}, for {days} days", "{units}, ל-{days} ימים"),
    "card_refill_of": ("{name}, refill {number}", "{name}, ניפוק {number}"),
    "chip_refills": ("Where is my refill?", "איפה הניפוק שלי?"),
    "chip_request": ("Please refill {name}", "לנפק את {name}, בבקשה"),
    "chip_delivery": ("Delivery", "משלוח"),
    "chip_cancel": ("Cancel refill {number}", "לבטל את ניפוק {number}"),
    "refill_on_card": (
        "To go on, please press “{yes}” on the card above. If its time is up, write “resume”.",
        "כדי להמשיך יש ללחוץ על ”{yes}“ בכרטיס שלמעלה. אם עבר הזמן, כתבו ”להמשיך“.",
    ),
    "refill_unreadable": (
        "{name}: I can't read our data at the moment. Please try again in a minute, or ask for a person.",
        "{name}: איני מצליח לקרוא את הנתונים כרגע. נסו שוב בעוד דקה, או בקשו לדבר עם אדם.",
    ),
    "veiled": (
        "Hidden for your privacy. Ask again to see it.",
        "הוסתר לשמירה על פרטיותכם. אפשר לשאול שוב.",
    ),
    "veiled_staff": (
        "A message from the pharmacy, hidden for your privacy. To read it, write the email address or the phone number that we have on file.",
        "הודעה מבית המרקחת, מוסתרת לשמירה על פרטיותכם. כדי לקרוא אותה, נא לכתוב את הדוא״ל או את הטלפון הרשומים אצלנו.",
    ),
    "veiled_words": ("Hidden for privacy.", "הוסתר לשמירה על הפרטיות."),
    "asked_by_another": (
        "I can no longer tell who asked that. Please ask again.",
        "כבר לא ברור מי כתב את ההודעה. נא לשאול שוב.",
    ),
    "confirm_refill": (
        "Request this refill?",
        "לבקש את הניפוק הזה?",
    ),
    "confirm_refills": (
        "Request these refills?",
        "לבקש את הניפוקים האלה?",
    ),
    "confirm_yes": ("Yes, request it", "כן, לבקש"),
    "confirm_no": ("No, leave it", "לא, לא עכשיו"),
    "confirm_declined": ("All right, the refill was not requested.", "בסדר, הניפוק לא התבקש."),
    "confirm_over": (
        "I could not do that: the request has changed meanwhile. Please ask again.",
        "לא הצלחתי: הבקשה השתנתה בינתיים. נא לבקש שוב.",
    ),
    "renew_which": (
        "Do you mean another refill of an existing prescription, or a new prescription from your doctor?",
        "האם הכוונה לניפוק נוסף של מרשם קיים, או למרשם חדש מהרופא?",
    ),
    "renew_refill": ("Another refill", "ניפוק נוסף"),
    "renew_new": ("A new prescription from the doctor", "מרשם חדש מהרופא"),
    "renew_doctor": (
        "A new prescription is issued by your doctor or health fund; the pharmacy can't renew it.",
        "מרשם חדש ניתן על ידי הרופא או קופת החולים; בית המרקחת אינו יכול לחדש אותו.",
    ),
    # -- a person -------------------------------------------------------------------------------------------
    "handoff_done": (
        "I've passed your request on to our staff. Your number is {number}.",
        "העברתי את הפנייה לצוות שלנו. מספר הפנייה הוא {number}.",
    ),
    "handoff_again": (
        "Your request is already with our staff. Your number is {number}.",
        "הפנייה שלכם כבר אצל הצוות. מספר הפנייה הוא {number}.",
    ),
    "withdrawn": (
        "Withdrawn, as you asked: {numbers}; write again if you need a person after all.",
        "בוטל לבקשתכם: {numbers}; אם בכל זאת יהיה צורך בנציג, אפשר לכתוב שוב.",
    ),
    "withdraw_ask": (
        "Do you mean your request to our staff, {numbers}? Shall I withdraw it?",
        "האם הכוונה לפנייה שלכם לצוות, {numbers}? לבטל אותה?",
    ),
    "withdraw_or_crisis": (
        "If you mean something else and this is a hard moment: ERAN, {crisis}, listens at any hour. In danger, call {medical}.",
        "אם הכוונה לדבר אחר וקשה לכם עכשיו: בער״ן, {crisis}, מקשיבים בכל שעה. בסכנה יש להתקשר ל-{medical}.",
    ),
    "withdraw_kept": (
        "All right, your request stays with our staff.",
        "בסדר, הפנייה שלכם נשארת אצל הצוות.",
    ),
    "withdrawn_not": (
        "A pharmacist still looks at this request, because it may be urgent: {numbers}.",
        "רוקח או רוקחת עדיין יבדקו את הפנייה, כי ייתכן שהיא דחופה: {numbers}.",
    ),
    # -- suggestions (chips) --------------------------------------------------------------------------------
    "chip_stock": ("Is {name} in stock?", "האם {name} במלאי?"),
    "chip_where": ("Which branches have {name}?", "באילו סניפים יש {name}?"),
    "chip_info": ("Tell me about {name}", "ספרו לי על {name}"),
    "chip_rx": ("Does {name} need a prescription?", "האם {name} דורש מרשם?"),
    "chip_side_effects": ("Side effects of {name}", "תופעות לוואי של {name}"),
    "chip_leaflet": ("What does the leaflet say about {name}?", "מה כתוב בעלון של {name}?"),
    "chip_equivalents": ("Are there equivalents of {name}?", "יש תחליף זהה ל{name}?"),
    "chip_person": ("Talk to a pharmacist", "לדבר עם רוקח"),
    "chip_prescriptions": ("What prescriptions do I have?", "אילו מרשמים יש לי?"),
    "chip_refill": ("Can I refill {name}?", "אפשר לנפק {name}?"),
    "chip_branches": ("Which branches do you have?", "אילו סניפים יש לכם?"),
    "chip_yes": ("Yes", "כן"),
    "chip_no": ("No", "לא"),
    # -- cards ----------------------------------------------------------------------------------------------
    "tag_rx": ("Rx – prescription", "במרשם"),
    "tag_otc": ("OTC – no prescription", "ללא מרשם"),
    "card_all_stores": ("all stores", "כל החנויות"),
    "card_products": ("Products", "תכשירים"),
    "card_sources": ("Sources", "מקורות"),
    "card_stock": ("Stock: {name}", "מלאי: {name}"),
    "card_equivalents": ("Equivalents of {name}", "תכשירים זהים ל{name}"),
    "card_interactions": ("Interactions on file", "אינטראקציות רשומות"),
    "card_prescriptions": ("Your prescriptions", "המרשמים שלכם"),
    "card_prescription": ("Your prescription", "המרשם שלכם"),
    "card_refill": ("Refill", "ניפוק נוסף"),
    "card_identity": ("Confirm that it is you", "אימות זהות"),
    "card_identity_note": (
        "The code has 6 digits, works once and is valid for {minutes} minutes.",
        "הקוד בן 6 ספרות, חד־פעמי ותקף ל-{minutes} דקות.",
    ),
    "card_identity_birth": (
        "Day, month and year of your birth, within {minutes} minutes.",
        "יום, חודש ושנת הלידה, בתוך {minutes} דקות.",
    ),
    "card_source": ("Source: {source}, updated {date}", "מקור: {source}, עודכן {date}"),
    "card_today": ("Today {hours}", "היום {hours}"),
    "card_closed_today": ("Closed today", "סגור היום"),
    "card_call": ("Call", "להתקשר"),
    "card_map": ("Map", "מפה"),
    "card_window": ("opens in a new window", "נפתח בחלון חדש"),
    "amount": ("₪{price}", "₪{price}"),
    "card_handoff": ("Request {number}", "פנייה {number}"),
    "handoff_waiting": ("Waiting for our staff", "ממתין לצוות"),
    "handoff_next": ("Waiting, you are next", "ממתינה, הבאה בתור"),
    "handoff_reading": (
        "Our staff read this conversation and deal with your request.",
        "הצוות שלנו קורא את השיחה ומטפל בפנייה.",
    ),
    "handoff_chat": ("In this chat", "בשיחה הזאת"),
    "handoff_chat_or_email": (
        "In this chat; our staff can also write by email to {email}.",
        "בשיחה הזאת; הצוות יכול גם לכתוב בדוא״ל אל {email}.",
    ),
    "staff_now": ("Now; {store} is open until {time}.", "עכשיו; סניף {store} פתוח עד {time}."),
    "staff_today": (
        "From {time}, when {store} opens; all branches are closed now.",
        "החל מ-{time}, עם פתיחת סניף {store}; כל הסניפים סגורים עכשיו.",
    ),
    "staff_on": (
        "From {day} at {time}, when {store} opens; all branches are closed now.",
        "החל מ{day} ב-{time}, עם פתיחת סניף {store}; כל הסניפים סגורים עכשיו.",
    ),
    "staff_phone": ("{store}, {phone}", "{store}, {phone}"),
    "staff_page": (
        "You may close this page: the request stays with us under its number.",
        "אפשר לסגור את הדף: הפנייה נשארת אצלנו תחת המספר שלה.",
    ),
    "waiting_for_staff": (
        "Our staff will read this here. Your request has the number {number}.",
        "הצוות שלנו יקרא את זה כאן. מספר הפנייה הוא {number}.",
    ),
    "waiting_advice": (
        "I can't give medical advice. Our staff will read your question here; your request has the number {number}.",
        "איני יכול לתת ייעוץ רפואי. הצוות שלנו יקרא את השאלה כאן; מספר הפנייה הוא {number}.",
    ),
    "waiting_row": ("{name}: {text}", "{name}: {text}"),
    "waiting_meanwhile": (
        "Meanwhile I can look up medicines, stock and opening hours.",
        "בינתיים אפשר לשאול אותי על תרופות, מלאי ושעות פתיחה.",
    ),
    "handoff_limited": (
        "I can't pass on another request now. Please call {store}, {phone}.",
        "אי אפשר להעביר עוד פנייה כרגע. נא להתקשר אל {store}, {phone}.",
    ),
    "handoff_limited_no_phone": (
        "I can't pass on another request now. Please call or visit one of our branches.",
        "אי אפשר להעביר עוד פנייה כרגע. נא להתקשר לאחד הסניפים או להגיע אליו.",
    ),
    "handoff_late": (
        "This takes longer than it should; I'm sorry. We have told a supervisor. You can also call {store}, {phone}.",
        "הטיפול מתעכב יותר מהרגיל, ואנו מתנצלים. עדכנו את הממונים. אפשר גם להתקשר אל {store}, {phone}.",
    ),
    "handoff_late_no_phone": (
        "This takes longer than it should; I'm sorry. We have told a supervisor.",
        "הטיפול מתעכב יותר מהרגיל, ואנו מתנצלים. עדכנו את הממונים.",
    ),
    "handoff_elsewhere": (
        "Our staff can't answer in this chat under this number. Ask for a person here, or call {store}, {phone}.",
        "הצוות לא יכול לענות בשיחה הזאת תחת המספר הזה. אפשר לבקש כאן נציג, או להתקשר אל {store}, {phone}.",
    ),
    "handoff_elsewhere_no_phone": (
        "Our staff can't answer in this chat under this number. Ask for a person here, or call one of our branches.",
        "הצוות לא יכול לענות בשיחה הזאת תחת המספר הזה. אפשר לבקש כאן נציג, או להתקשר לאחד הסניפים.",
    ),
    "handoff_taken": ("Our {role} is reading your conversation.", "השיחה שלכם נקראת כעת ({role})."),
    # How a hand-off ended.
    "ended_approved": (
        "Our {role} has approved your request. To ask about it: {store}, {phone}.",
        "הבקשה אושרה ({role}). לשאלות: {store}, {phone}.",
    ),
    "ended_approved_no_phone": (
        "Our {role} has approved your request. Ask in your branch how it goes on.",
        "הבקשה אושרה ({role}). בסניף אפשר לשאול מה הלאה.",
    ),
    "ended_changed": (
        "Our {role} has approved your request with a change. To ask what it is: {store}, {phone}.",
        "הבקשה אושרה בשינוי ({role}). כדי לשאול מהו: {store}, {phone}.",
    ),
    "ended_changed_no_phone": (
        "Our {role} has approved your request with a change. Ask in your branch what it is.",
        "הבקשה אושרה בשינוי ({role}). בסניף אפשר לשאול מהו.",
    ),
    "ended_denied": (
        "Our {role} has not approved your request. Please speak to your doctor, or call {store}, {phone}.",
        "הבקשה לא אושרה ({role}). נא לפנות לרופא או לרופאה שלכם, או להתקשר אל {store}, {phone}.",
    ),
    "ended_denied_no_phone": (
        "Our {role} has not approved your request. Please speak to your doctor, or ask in your branch.",
        "הבקשה לא אושרה ({role}). נא לפנות לרופא או לרופאה שלכם, או לשאול בסניף.",
    ),
    "ended_answered": (
        "Our {role} has answered you here, and the request is closed. You can write again at any time.",
        "קיבלתם כאן תשובה ({role}), והפנייה נסגרה. אפשר לכתוב שוב בכל עת.",
    ),
    "ended_left": (
        "The request is closed, and our {role} has not answered what you wrote last. Ask for a person again, or call {store}, {phone}.",
        "הפנייה נסגרה, ומה שכתבתם לאחרונה לא נענה ({role}). אפשר לבקש שוב נציג, או להתקשר אל {store}, {phone}.",
    ),
    "ended_left_no_phone": (
        "The request is closed, and our {role} has not answered what you wrote last. Ask for a person again.",
        "הפנייה נסגרה, ומה שכתבתם לאחרונה לא נענה ({role}). אפשר לבקש שוב נציג.",
    ),
    "ended_by_phone": (
        "Our staff settled this with you by phone. If that is not so, please ask for a person again.",
        "הפנייה טופלה איתכם בטלפון. אם לא כך היה, נא לבקש שוב נציג.",
    ),
    "ended_in_branch": (
        "This was settled in the branch. If that is not so, please ask for a person again.",
        "הפנייה טופלה בסניף. אם לא כך היה, נא לבקש שוב נציג.",
    ),
    "ended_no_reply": (
        "We did not hear from you, so the request is closed. Write again if you still need a person.",
        "לא קיבלנו מכם תשובה, ולכן הפנייה נסגרה. אם עדיין צריך נציג, אפשר לכתוב שוב.",
    ),
    "ended_cancelled": (
        "The request is closed because it is no longer needed. Ask again if that is not so.",
        "הפנייה נסגרה כי אין בה עוד צורך. אם לא כך, אפשר לבקש שוב.",
    ),
    "ended_duplicate": (
        "The request is closed because another one of yours is about the same.",
        "הפנייה נסגרה כי פנייה אחרת שלכם עוסקת באותו עניין.",
    ),
    "ended_unanswered": (
        "The request was closed and nobody has answered you. I'm sorry. Ask for a person again, or call {store}, {phone}.",
        "הפנייה נסגרה ולא קיבלתם תשובה. אנו מתנצלים. אפשר לבקש שוב נציג, או להתקשר אל {store}, {phone}.",
    ),
    "ended_unanswered_no_phone": (
        "The request was closed and nobody has answered you. I'm sorry. Ask for a person again.",
        "הפנייה נסגרה ולא קיבלתם תשובה. אנו מתנצלים. אפשר לבקש שוב נציג.",
    ),
    # -- while a tool runs ----------------------------------------------------------------------------------
    "doing": ("Checking…", "בודקים…"),
    "doing_get_medication_by_name": ("Looking up the medicine…", "מחפשים את התרופה…"),
    "doing_get_medication_by_name_of": ("Looking up {name}…", "מחפשים את {name}…"),
    "doing_get_medication_info": ("Reading the leaflet…", "קוראים בעלון…"),
    "doing_get_medication_info_of": ("Reading the leaflet of {name}…", "קוראים בעלון של {name}…"),
    "doing_check_inventory": ("Checking the stock…", "בודקים מלאי…"),
    "doing_check_stock": ("Checking stock in the branches…", "בודקים מלאי בסניפים…"),
    "doing_check_stock_in": ("Checking stock in {place}…", "בודקים מלאי ב{place}…"),
    "doing_inventory_check": ("Searching our products…", "מחפשים במוצרים שלנו…"),
    "doing_inventory_find_equivalent": ("Looking for identical products…", "מחפשים תכשירים זהים…"),
    "doing_interaction_check": ("Checking interactions on file…", "בודקים אינטראקציות רשומות…"),
    "doing_check_prescription_requirement": ("Checking if a prescription is needed…", "בודקים אם נדרש מרשם…"),
    "doing_prescription_management": ("Reading your prescriptions…", "קוראים את המרשמים שלכם…"),
    "doing_knowledge.ask": ("Looking in the knowledge base…", "מחפשים במאגר הידע…"),
    "doing_prescription_verify": ("Verifying the prescription…", "מאמתים את המרשם…"),
    # -- errors of the socket -------------------------------------------------------------------------------
    "error_bad_frame": (
        "This message could not be read. Please write it again.",
        "לא ניתן לקרוא את ההודעה הזאת. נא לכתוב אותה שוב.",
    ),
    "error_email_invalid": (
        "This is not an email address that we can write to.",
        "זו אינה כתובת דוא״ל שאפשר לכתוב אליה.",
    ),
    "error_too_large": (
        "This message is too large. Please shorten it.",
        "ההודעה גדולה מדי. נא לקצר אותה.",
    ),
    "error_too_long": (
        "Please keep a message under 4,000 characters.",
        "נא לקצר את ההודעה לפחות מ-4,000 תווים.",
    ),
    "error_rate_limited": (
        "That was a lot of messages. Please send it again {when}.",
        "נשלחו הרבה הודעות. נא לשלוח שוב {when}.",
    ),
    "error_too_many_frames": (
        "Too much came from this page at once, so it was disconnected. Please connect again {when}, and more slowly.",
        "הגיע יותר מדי בבת אחת מהדף הזה, ולכן הוא נותק. נא להתחבר שוב {when}, ולאט יותר.",
    ),
    "error_too_many_conversations": (
        "Too many new chats were begun from your network. Please come back {when}, or call one of our branches.",
        "נפתחו יותר מדי שיחות חדשות מהרשת שלכם. נא לחזור {when}, או להתקשר לאחד הסניפים.",
    ),
    "error_unknown_conversation": (
        "This conversation is no longer here. Please start a new one.",
        "השיחה הזאת כבר אינה קיימת. נא להתחיל שיחה חדשה.",
    ),
    "error_forbidden_origin": (
        "This page may not open the chat. Please open it on our own site.",
        "הדף הזה אינו רשאי לפתוח את הצ׳אט. נא לפתוח אותו באתר שלנו.",
    ),
    "error_expired": ("This has expired. Please ask again.", "פג התוקף. נא לבקש שוב."),
    "error_called_off": ("This was called off.", "זה בוטל לבקשתכם."),
    "error_superseded": ("There is a newer card below.", "יש כרטיס חדש יותר למטה."),
    "error_code_expired": (
        "That code is no longer valid. Ask for a new one with your email or phone number.",
        "הקוד כבר אינו בתוקף. בקשו קוד חדש עם דוא״ל או טלפון.",
    ),
    "error_birth_wrong": (
        "That is no date of birth that I can read. Please write day, month and year.",
        "לא הצלחתי לקרוא את תאריך הלידה. נא לכתוב יום, חודש ושנה.",
    ),
    "error_birth_expired": (
        "The time for that is over. Give your email, phone or medical record number again.",
        "הזמן לכך עבר. כתבו שוב דוא״ל, טלפון או מספר תיק רפואי.",
    ),
    "error_birth_locked": (
        "The date of birth did not match too often. Our staff will take over.",
        "תאריך הלידה לא התאים יותר מדי פעמים. הצוות שלנו ימשיך מכאן.",
    ),
    "error_locked": (
        "The code was wrong too often. Our staff will take over.",
        "הקוד היה שגוי יותר מדי פעמים. הצוות שלנו ימשיך מכאן.",
    ),
    "error_busy": ("We are busy right now. Please try again {when}.", "יש עומס כרגע. נסו שוב {when}."),
    "error_internal": (
        "Something went wrong on our side. Please send it again.",
        "משהו השתבש אצלנו. נא לשלוח שוב.",
    ),
}

# key → ((one, two, many) in English, (one, two, many) in Hebrew)
PLURALS: Final[dict[str, tuple[tuple[str, str, str], tuple[str, str, str]]]] = {
    "in_seconds": (
        ("in a moment", "in a moment", "in {n} seconds"),
        ("בעוד רגע", "בעוד רגע", "בעוד {n} שניות"),
    ),
    "in_minutes": (
        ("in a minute", "in {n} minutes", "in {n} minutes"),
        ("בעוד דקה", "בעוד שתי דקות", "בעוד {n} דקות"),
    ),
    "in_hours": (
        ("in an hour", "in {n} hours", "in {n} hours"),
        ("בעוד שעה", "בעוד שעתיים", "בעוד {n} שעות"),
    ),
    "in_stock": (
        (
            "{name} is in stock ({n} pack in all our stores together).",
            "{name} is in stock ({n} packs in all our stores together).",
            "{name} is in stock ({n} packs in all our stores together).",
        ),
        (
            "{name} במלאי (אריזה אחת בסך הכול בכל החנויות שלנו).",
            "{name} במלאי ({n} אריזות בסך הכול בכל החנויות שלנו).",
            "{name} במלאי ({n} אריזות בסך הכול בכל החנויות שלנו).",
        ),
    ),
    "in_stock_low": (
        (
            "{name} is in stock but limited quantity available ({n} pack in all our stores together).",
            "{name} is in stock but limited quantity available ({n} packs in all our stores together).",
            "{name} is in stock but limited quantity available ({n} packs in all our stores together).",
        ),
        (
            "{name} במלאי, אך המלאי מוגבל (אריזה אחת בסך הכול בכל החנויות שלנו).",
            "{name} במלאי, אך המלאי מוגבל ({n} אריזות בסך הכול בכל החנויות שלנו).",
            "{name} במלאי, אך המלאי מוגבל ({n} אריזות בסך הכול בכל החנויות שלנו).",
        ),
    ),
    "in_stock_at": (
        (
            "{name} is in stock at {store} ({n} unit).",
            "{name} is in stock at {store} ({n} units).",
            "{name} is in stock at {store} ({n} units).",
        ),
        (
            "{name} במלאי ב{store} (יחידה אחת).",
            "{name} במלאי ב{store} ({n} יחידות).",
            "{name} במלאי ב{store} ({n} יחידות).",
        ),
    ),
    "in_stock_online": (
        (
            "{name} is in stock in our online store ({n} unit).",
            "{name} is in stock in our online store ({n} units).",
            "{name} is in stock in our online store ({n} units).",
        ),
        (
            "{name} במלאי בחנות המקוונת (יחידה אחת).",
            "{name} במלאי בחנות המקוונת ({n} יחידות).",
            "{name} במלאי בחנות המקוונת ({n} יחידות).",
        ),
    ),
    "in_stock_online_low": (
        (
            "{name} is in stock in our online store but limited quantity available ({n} unit).",
            "{name} is in stock in our online store but limited quantity available ({n} units).",
            "{name} is in stock in our online store but limited quantity available ({n} units).",
        ),
        (
            "{name} במלאי בחנות המקוונת, אך המלאי מוגבל (יחידה אחת).",
            "{name} במלאי בחנות המקוונת, אך המלאי מוגבל ({n} יחידות).",
            "{name} במלאי בחנות המקוונת, אך המלאי מוגבל ({n} יחידות).",
        ),
    ),
    "in_stock_at_low": (
        (
            "{name} is in stock at {store} but limited quantity available ({n} unit).",
            "{name} is in stock at {store} but limited quantity available ({n} units).",
            "{name} is in stock at {store} but limited quantity available ({n} units).",
        ),
        (
            "{name} במלאי ב{store}, אך המלאי מוגבל (יחידה אחת).",
            "{name} במלאי ב{store}, אך המלאי מוגבל ({n} יחידות).",
            "{name} במלאי ב{store}, אך המלאי מוגבל ({n} יחידות).",
        ),
    ),
    "handoff_before": (
        ("Waiting, {n} before you", "Waiting, {n} before you", "Waiting, {n} before you"),
        ("ממתינה, פנייה אחת לפניכם", "ממתינה, שתי פניות לפניכם", "ממתינה, {n} פניות לפניכם"),
    ),
    "single_units": (("{n} unit", "{n} units", "{n} units"), ("יחידה אחת", "{n} יחידות", "{n} יחידות")),
    "units": (("{n} unit", "{n} units", "{n} units"), ("יחידה אחת", "{n} יחידות", "{n} יחידות")),
    "units_low": (
        ("limited quantity: {n} unit", "limited quantity: {n} units", "limited quantity: {n} units"),
        ("מלאי מוגבל: יחידה אחת", "מלאי מוגבל: {n} יחידות", "מלאי מוגבל: {n} יחידות"),
    ),
    "refills_left": (
        (
            "You have {n} refill remaining.",
            "You have {n} refills remaining.",
            "You have {n} refills remaining.",
        ),
        ("נותר ניפוק אחד.", "נותרו {n} ניפוקים.", "נותרו {n} ניפוקים."),
    ),
    "refills_short": (
        ("{n} refill remaining", "{n} refills remaining", "{n} refills remaining"),
        ("נותר ניפוק אחד", "נותרו {n} ניפוקים", "נותרו {n} ניפוקים"),
    ),
    "prescriptions_head": (
        (
            "I found {n} prescription for {name}:",
            "I found {n} prescriptions for {name}:",
            "I found {n} prescriptions for {name}:",
        ),
        ("מצאתי מרשם אחד על שמכם:", "מצאתי {n} מרשמים על שמכם:", "מצאתי {n} מרשמים על שמכם:"),
    ),
    "prescriptions_head_active": (
        (
            "I found {n} active prescription for {name}:",
            "I found {n} active prescriptions for {name}:",
            "I found {n} active prescriptions for {name}:",
        ),
        (
            "מצאתי מרשם פעיל אחד על שמכם:",
            "מצאתי {n} מרשמים פעילים על שמכם:",
            "מצאתי {n} מרשמים פעילים על שמכם:",
        ),
    ),
    "birth_wrong": (
        (
            "The details do not match. You have {n} try left. Please write day, month and the year in full.",
            "The details do not match. You have {n} tries left. Please write day, month and the year in full.",
            "The details do not match. You have {n} tries left. Please write day, month and the year in full.",
        ),
        (
            "הפרטים אינם תואמים. נותר ניסיון אחד. נא לכתוב יום, חודש ושנה מלאה.",
            "הפרטים אינם תואמים. נותרו {n} ניסיונות. נא לכתוב יום, חודש ושנה מלאה.",
            "הפרטים אינם תואמים. נותרו {n} ניסיונות. נא לכתוב יום, חודש ושנה מלאה.",
        ),
    ),
    "code_wrong": (
        (
            "That code is not right. You have {n} try left.",
            "That code is not right. You have {n} tries left.",
            "That code is not right. You have {n} tries left.",
        ),
        (
            "הקוד אינו נכון. נותר ניסיון אחד.",
            "הקוד אינו נכון. נותרו {n} ניסיונות.",
            "הקוד אינו נכון. נותרו {n} ניסיונות.",
        ),
    ),
}

# kind → value → (English, Hebrew)
LABELS: Final[dict[str, dict[str, tuple[str, str]]]] = {
    "form": {
        "tablet": ("tablet", "טבלייה"),
        "capsule": ("capsule", "קפסולה"),
        "syrup": ("syrup", "סירופ"),
        "spray": ("spray", "תרסיס"),
        "pen": ("pen", "עט להזרקה"),
        "cream": ("cream", "קרם"),
        "ointment": ("ointment", "משחה"),
        "drops": ("drops", "טיפות"),
        "patch": ("patch", "מדבקה"),
        "suppository": ("suppository", "נר"),
        "inhaler": ("inhaler", "משאף"),
        "solution": ("solution", "תמיסה"),
        "suspension": ("suspension", "תרחיף"),
        "injection": ("injection", "זריקה"),
    },
    "release": {
        "extended": ("extended release", "שחרור מושהה"),
        "delayed": ("delayed release", "שחרור מאוחר"),
    },
    "unit": {
        "tablet": ("tablets", "טבליות"),
        "tablets": ("tablets", "טבליות"),
        "capsules": ("capsules", "קפסולות"),
        "doses": ("doses", "מנות"),
        "pens": ("pens", "עטים"),
        "capsule": ("capsules", "קפסולות"),
        "ml": ("ml", "מ״ל"),
        "dose": ("doses", "מנות"),
        "pen": ("pens", "עטים"),
        "sprays": ("sprays", "התזות"),
    },
    "section": {
        "use": ("use", "שימוש"),
        "dosage": ("dosage", "מינון"),
        "minimum_age": ("age", "גיל"),
        "pregnancy": ("pregnancy", "היריון"),
        "breastfeeding": ("breastfeeding", "הנקה"),
        "driving": ("driving", "נהיגה"),
        "food_alcohol": ("food and alcohol", "אוכל ואלכוהול"),
        "storage": ("storage", "אחסון"),
        "missed_dose": ("a missed dose", "מנה שנשכחה"),
        "side_effects": ("side effects", "תופעות לוואי"),
        "warnings": ("warnings", "אזהרות"),
        "excipients": ("inactive ingredients", "חומרים לא פעילים"),
    },
    "number": {
        "several": ("several", "כמה"),
        "1": ("one", "אחד"),
        "2": ("two", "שני"),
        "3": ("three", "שלושה"),
        "4": ("four", "ארבעה"),
        "5": ("five", "חמישה"),
        "6": ("six", "שישה"),
        "7": ("seven", "שבעה"),
        "8": ("eight", "שמונה"),
        "9": ("nine", "תשעה"),
        "10": ("ten", "עשרה"),
    },
    "weekday": {
        "sun": ("Sunday", "יום ראשון"),
        "mon": ("Monday", "יום שני"),
        "tue": ("Tuesday", "יום שלישי"),
        "wed": ("Wednesday", "יום רביעי"),
        "thu": ("Thursday", "יום חמישי"),
        "fri": ("Friday", "יום שישי"),
        "sat": ("Saturday", "שבת"),
    },
    "level": {
        "avoid": ("not to be taken together", "אין ליטול יחד"),
        "caution": ("caution", "נדרשת זהירות"),
        "same": ("same active ingredient", "אותו חומר פעיל"),
    },
    "status": {
        "active": ("active", "פעיל"),
        "completed": ("completed", "נוצל"),
        "expired": ("expired", "לא בתוקף"),
    },
    "column": {
        "product": ("Product", "תכשיר"),
        "medicine": ("Medicine", "תרופה"),
        "refills": ("Refills left", "ניפוקים שנותרו"),
        "quantity": ("Quantity", "כמות"),
        "pickup": ("Pick-up", "איסוף"),
        "check": ("Please note", "לתשומת לב"),
        "number": ("Number", "מספר"),
        "stock": ("In stock", "במלאי"),
        "ingredient": ("Active ingredient", "חומר פעיל"),
        "form": ("Form", "צורת מתן"),
        "strength": ("Strength", "חוזק"),
        "pack": ("Pack", "אריזה"),
        "state": ("Status", "מצב"),
        "reason": ("Reason", "סיבה"),
        "when": ("A person answers", "מענה אנושי"),
        "next": ("What happens next", "מה קורה עכשיו"),
        "hear": ("You hear from us", "איך נעדכן אתכם"),
        "phone": ("By phone", "בטלפון"),
        "price": ("Price on file", "מחיר רשום"),
        "directions": ("Directions", "אופן הנטילה"),
        "last_filled": ("Last filled", "נופק לאחרונה"),
        "valid_until": ("Valid until", "בתוקף עד"),
    },
    "step": {
        "done": ("done", "בוצע"),
        "now": ("now", "כעת"),
        "next": ("to come", "בהמשך"),
        "stopped": ("ended here", "הסתיים כאן"),
    },
    "refill_stage": {
        "collecting": ("Waits for your confirmation", "מחכה לאישור שלך"),
        "received": ("Received", "התקבלה"),
        "checked": ("Checked", "נבדקה"),
        "with_person": ("With the pharmacist", "אצל הרוקח או הרוקחת"),
        "approved": ("Approved", "אושרה"),
        "preparing": ("Being prepared", "בהכנה"),
        "ready": ("Ready to be collected", "מוכן לאיסוף"),
        "ready_delivery": ("Ready for delivery", "מוכן למשלוח"),
        "collected": ("Collected", "נאסף"),
        "returned": ("Put back", "הוחזר"),
        "denied": ("Not approved", "לא אושרה"),
        "cancelled": ("Cancelled", "בוטלה"),
        "closed": ("Closed", "נסגרה"),
    },
    "refill_check": {
        "major_interaction": (
            "It meets another medicine of yours that it must not be taken with",
            "יש לכם תרופה אחרת שאסור ליטול איתה",
        ),
        "direct_allergy": ("It meets an allergy on your file", "יש ברשומות שלכם אלרגיה לתרופה"),
        "related_allergy": ("It is related to an allergy on your file", "התרופה קרובה לאלרגיה שברשומות שלכם"),
        "allergy_unknown": ("Your allergies could not be checked", "לא ניתן היה לבדוק את האלרגיות שלכם"),
        "interaction_unknown": ("Interactions could not be checked", "לא ניתן היה לבדוק תגובות בין תרופות"),
        "controlled_substance": ("It is a controlled medicine", "זו תרופה בפיקוח"),
        "backend_unavailable": ("A system that we need does not answer", "מערכת שנחוצה לנו אינה עונה"),
        "not_refillable": ("The prescription cannot be refilled as it is", "אי אפשר לנפק לפי המרשם כפי שהוא"),
        "duplicate_therapy": (
            "Another prescription of yours has the same ingredient",
            "מרשם אחר שלכם כולל אותו חומר פעיל",
        ),
        "quantity": ("The quantity is not the prescribed one", "הכמות שונה מזו שבמרשם"),
        "labs": ("A laboratory value is needed", "נדרשת תוצאת מעבדה"),
        "age": ("It is limited to another age", "התרופה מוגבלת לגיל אחר"),
        "acute_antibiotic": ("It is an antibiotic", "זו אנטיביוטיקה"),
        "prior_authorisation": (
            "Your health fund must authorise it first",
            "נדרש אישור מוקדם של קופת החולים",
        ),
        "early": ("The last supply is not used up yet", "המלאי הקודם עוד לא נוצל"),
        "out_of_stock": ("There is not enough in stock where you pick it up", "אין די מלאי בנקודת האיסוף"),
        "check_failed": ("A check could not be made", "בדיקה לא הושלמה"),
        "warn_interactions": (
            "It has an interaction of the level “caution” with another medicine of yours",
            "יש תגובה ברמת ”זהירות“ עם תרופה אחרת שלכם",
        ),
        "warn_duplicate": ("Another medicine of yours is of the same kind", "יש לכם תרופה נוספת מאותו סוג"),
    },
    "refill": {
        "yes": ("Can be refilled", "ניתן לניפוק"),
        "pending": ("A refill is already requested", "כבר נשלחה בקשה לניפוק"),
        "controlled": ("Needs a new prescription from the doctor", "נדרש מרשם חדש מהרופא"),
        "staff": ("Our staff must check it", "הצוות צריך לבדוק אותו"),
        "completed": ("Cannot be refilled", "לא ניתן לניפוק"),
        "expired": ("Cannot be refilled", "לא ניתן לניפוק"),
        "none_left": ("Cannot be refilled", "לא ניתן לניפוק"),
    },
    "reason": {
        "customer_asked": ("You asked for a person", "ביקשתם לדבר עם אדם"),
        "not_understood": ("The assistant did not understand", "העוזר הדיגיטלי לא הבין"),
        "identity_failed": ("Your identity could not be confirmed", "לא ניתן היה לאמת את הזהות"),
        "refill": ("You asked for a refill", "ביקשתם ניפוק"),
        "extra_dose": ("An extra dose was taken", "ניטלה מנה נוספת"),
        "adverse_reaction": ("A reaction to a medicine", "תגובה לתרופה"),
        "unverifiable": ("The assistant had no checked answer", "לעוזר הדיגיטלי לא הייתה תשובה בדוקה"),
        "stock": ("A question about stock", "שאלה על מלאי"),
        "pickup": ("A question about pick-up or delivery", "שאלה על איסוף או משלוח"),
        "complaint": ("A complaint", "תלונה"),
    },
    "role": {
        "technician": ("pharmacy technician", "צוות הסניף"),
        "pharmacist": ("pharmacist", "רוקח או רוקחת"),
        "physician": ("physician", "רופא או רופאה"),
    },
}
