/** Every sentence of the chat's surface, English and Hebrew side by side; answers come worded from the server. */

const WORDS = {
  title: ["Ask the pharmacy", "שאלות לבית המרקחת"],
  disclosure: ["Digital assistant (AI) – not medical advice", "עוזר דיגיטלי (בינה מלאכותית) – לא ייעוץ רפואי"],
  intro: [
    "You're chatting with an automated assistant (AI). It shares product and stock facts, not medical advice.",
    "אתם משוחחים עם עוזר דיגיטלי (בינה מלאכותית). הוא מוסר מידע על מוצרים ומלאי ואינו נותן ייעוץ רפואי.",
  ],
  introMore: [
    "Ask about a medicine, its stock in a branch, or your prescriptions.",
    "אפשר לשאול על תרופה, על המלאי בסניף או על המרשמים שלכם.",
  ],
  start1: ["Do you have Acamol?", "יש לכם אקמול?"],
  start2: ["Which pain relievers do you have?", "אילו משככי כאבים יש לכם?"],
  start3: ["What prescriptions do I have?", "אילו מרשמים יש לי?"],
  switchTo: ["עברית", "English"],
  person: ["Talk to a person", "שיחה עם נציג"],
  personAsked: ["Passing you on…", "מעבירים אתכם…"],
  end: ["End and clear", "סיום ומחיקה"],
  ended: ["The chat was cleared from this page. You can begin a new one.", "השיחה נמחקה מהדף. אפשר להתחיל שיחה חדשה."],
  log: ["Conversation", "השיחה"],
  newMessages: ["New messages", "הודעות חדשות"],
  user: ["You", "אתם"],
  assistant: ["Assistant", "העוזר"],
  staff: ["Pharmacy team", "צוות בית המרקחת"],
  system: ["Notice", "הודעה"],
  yourMessage: ["Your message", "ההודעה שלכם"],
  placeholder: ["Write a message…", "כתבו הודעה…"],
  send: ["Send", "שליחה"],
  hint: ["Enter sends, Shift+Enter starts a new line", "Enter שולח, Shift+Enter לשורה חדשה"],
  sending: ["Sending…", "שולחים…"],
  notSent: ["Not sent.", "לא נשלח."],
  tryAgain: ["Try again", "ניסיון נוסף"],
  thinking: ["Looking it up", "בודקים"],
  suggestions: ["Suggestions", "הצעות"],
  activity: ["How this was answered", "איך נמצאה התשובה"],
  lookups: ["{n} look-ups", "{n} בדיקות"],
  lookupsOne: ["1 look-up", "בדיקה אחת"],
  lookupsTwo: ["2 look-ups", "שתי בדיקות"],
  ms: ["{n} ms", "{n} אלפיות שנייה"],
  done: ["done", "הושלם"],
  noResult: ["no result", "אין תוצאה"],
  running: ["running", "בביצוע"],
  offline: [
    "You're offline. We'll send your message when you're back.",
    "אין חיבור לאינטרנט. ההודעה תישלח כשהחיבור יחזור.",
  ],
  reconnecting: ["Reconnecting…", "מתחברים מחדש…"],
  connected: ["Connected again.", "החיבור חזר."],
  degraded: [
    "Our assistant is busy. I can still check stock and product facts.",
    "העוזר עמוס כרגע. אפשר עדיין לבדוק מלאי ולקבל מידע על מוצרים.",
  ],
  queued: ["A person from the pharmacy will take over this chat.", "איש צוות של בית המרקחת ימשיך את השיחה."],
  human: ["You're chatting with the pharmacy team.", "אתם משוחחים עם צוות בית המרקחת."],
  codeLabel: ["Code from your message (6 digits)", "הקוד מההודעה שקיבלתם (6 ספרות)"],
  codeHelp: ["It works once, until {time}.", "הוא תקף לשימוש אחד, עד {time}."],
  codeSend: ["Confirm", "אישור"],
  codeEmpty: ["Enter the six digits of the code.", "הקלידו את שש הספרות של הקוד."],
  codeLost: ["The connection was lost. Please enter the code again.", "החיבור נותק. נא להקליד את הקוד שוב."],
  verified: ["Thank you, we know who you are now.", "תודה, הזיהוי הושלם."],
  triesOne: ["This code is not right. One try is left.", "הקוד אינו נכון. נותר ניסיון אחד."],
  triesTwo: ["This code is not right. 2 tries are left.", "הקוד אינו נכון. נותרו שני ניסיונות."],
  tries: ["This code is not right. {n} tries are left.", "הקוד אינו נכון. נותרו {n} ניסיונות."],
  handoff: ["A person will help you", "נציג יעזור לכם"],
  handoffNumber: ["Number", "מספר פנייה"],
  handoffState: ["State", "מצב"],
  handoff_open: ["waiting for a person", "ממתינה לנציג"],
  handoff_claimed: ["with a person", "בטיפול"],
  handoff_closed: ["closed", "נסגרה"],
  stillThere: [
    "For your privacy this chat will be cleared in one minute.",
    "לשמירה על פרטיותכם השיחה תימחק מהדף בעוד דקה.",
  ],
  stay: ["I'm still here", "אני עדיין כאן"],
  run_failed: ["Something went wrong and your question was not answered.", "אירעה תקלה והשאלה לא נענתה."],
  run_cancelled: ["The answer was stopped.", "התשובה הופסקה."],
  error_bad_frame: ["The message could not be read.", "לא ניתן היה לקרוא את ההודעה."],
  error_too_large: ["The message is too long. Please shorten it.", "ההודעה ארוכה מדי. נא לקצר אותה."],
  error_too_long: ["The message is too long. Please shorten it.", "ההודעה ארוכה מדי. נא לקצר אותה."],
  error_rate_limited: [
    "That was a lot at once. Please wait a minute and try again.",
    "נשלחו הודעות רבות בזמן קצר. נא להמתין דקה ולנסות שוב.",
  ],
  error_forbidden_origin: ["The chat is not available on this page.", "הצ׳אט אינו זמין בדף זה."],
  error_unknown_conversation: [
    "The earlier chat is no longer there, so a new one has begun.",
    "השיחה הקודמת כבר אינה קיימת, והתחלנו שיחה חדשה.",
  ],
  error_code_wrong: ["This code is not right.", "הקוד אינו נכון."],
  error_code_expired: ["This code has expired. Ask for a new one.", "תוקף הקוד פג. אפשר לבקש קוד חדש."],
  error_locked: [
    "Too many wrong codes. A person from the pharmacy can help you.",
    "הוקלדו יותר מדי קודים שגויים. איש צוות של בית המרקחת יוכל לעזור.",
  ],
  error_expired: ["This has expired. Please ask again.", "פג התוקף. נא לבקש שוב."],
  error_busy: ["We are busy right now. Please try again in a moment.", "יש עומס כרגע. נא לנסות שוב בעוד רגע."],
  error_internal: ["Something went wrong. Please try again.", "אירעה תקלה. נא לנסות שוב."],
};

/** A function that gives the sentence of a key in one language; "" for a key that does not exist. */
export function wordsIn(lang) {
  const column = lang === "he" ? 1 : 0;
  return (key, values = {}) =>
    (WORDS[key]?.[column] ?? "").replace(/\{(\w+)\}/g, (whole, name) => String(values[name] ?? whole));
}

/** One, two or many: Hebrew has a form for each. Picks `keyOne`, `keyTwo` or `key`. */
export function counted(word, key, n) {
  return word(n === 1 ? `${key}One` : n === 2 ? `${key}Two` : key, { n });
}
