"""What is masked in a message, and what must stay readable, in both languages."""

from datetime import date

import pytest

from prescriptions.masking import MASK, masked

TODAY = date(2026, 11, 21)


@pytest.mark.parametrize(
    ("text", "code", "left"),
    [
        ("123456", "123456", MASK),
        (" 012345 ", "012345", f" {MASK} "),
        ("my code is 123456, thanks", "123456", f"my code is {MASK}, thanks"),
        ("code is 123 456", "123456", f"code is {MASK}"),
        ("123-456", "123456", MASK),
        ("123–456", "123456", MASK),
        ("12 34 56", "123456", MASK),
        ("1 2 3 4 5 6", "123456", MASK),
        ("1-2-3-4-5-6.", "123456", f"{MASK}."),
        ("it says 123456 2 minutes ago", "123456", f"it says {MASK} 2 minutes ago"),
        ("הקוד הוא 123456 תודה", "123456", f"הקוד הוא {MASK} תודה"),
        ("קיבלתי 123 456", "123456", f"קיבלתי {MASK}"),
        ("הקוד 123456 למרשם 5", "123456", f"הקוד {MASK} למרשם 5"),
        ("code for prescription 5: 123456", "123456", f"code for prescription 5: {MASK}"),
        ("１２３４５６", "123456", MASK),
        ("١٢٣٤٥٦", "123456", MASK),
        ("۱۲۳ ۴۵۶", "123456", MASK),
        ("12\u200b34\u200f56", "123456", MASK),
        ("\u2067123456\u2069", "123456", f"\u2067{MASK}\u2069"),
        ("not 111111 but 222222", "111111", f"not {MASK} but {MASK}"),
    ],
)
def test_code_is_read_and_masked_while_one_is_awaited(text: str, code: str, left: str) -> None:
    assert masked(text, challenge_open=True, today=TODAY).code == code
    assert masked(text, challenge_open=True, today=TODAY).text == left
    assert masked(text, challenge_open=False, today=TODAY).code is None
    assert masked(text, challenge_open=False, today=TODAY).text == text


@pytest.mark.parametrize(
    "text",
    [
        "12345",
        "1234567",
        "050-1234567",
        "0501234567",
        "050 123 4567",
        "054-765 4321",
        "+972 50 123 4567",
        "+972-50-123-4567",
        "call me on 054 765 4321",
        "הטלפון שלי 050-1234567",
        "david123456@example.com",
        "prescription 123456",
        "prescription number 123456",
        "order no. 123456",
        "מרשם מספר 123456",
        "הזמנה מס' 123456",
        "H-123456",
        "RX123456",
        "vitamin D 100000 IU",
        "ויטמין D 100000 יחב״ל",
        "875 mg + 125 mg",
        '500 מ"ג 20 טבליות',
        "MRN 10000101",
        "104",
        "12/11/2026",
        "1.5 ml",
    ],
)
def test_other_numbers_are_not_masked_while_a_code_is_awaited(text: str) -> None:
    result = masked(text, challenge_open=True, today=TODAY)
    assert (result.text, result.code, result.kinds) == (text, None, frozenset())


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("15/03/1965", MASK),
        ("15.3.1965", MASK),
        ("03-15-1965", MASK),
        ("1965-03-15", MASK),
        ("15 / 03 / 1965", MASK),
        ("March 15, 1965", MASK),
        ("15th of March 1965", MASK),
        ("15 במרץ 1965", MASK),
        ("ה-15 למרץ 1965", f"ה-{MASK}"),
        ("١٥/٠٣/١٩٦٥", MASK),
        ("I was born on 15 03 1965.", f"I was born on {MASK}."),
        ("dob 15/03/65", f"dob {MASK}"),
        ("date of birth: 15031965", f"date of birth: {MASK}"),
        ("my daughter was born 12/11/2015", f"my daughter was born {MASK}"),
        ("נולדתי ב-15/03/65", f"נולדתי ב-{MASK}"),
        ("תאריך לידה 15.03.1965", f"תאריך לידה {MASK}"),
        ("ת. לידה 15031965", f"ת. לידה {MASK}"),
        ("הבן שלי נולד ב-3 במאי 2015", f"הבן שלי נולד ב-{MASK}"),
    ],
)
def test_date_of_birth_is_masked(text: str, left: str) -> None:
    result = masked(text, challenge_open=False, today=TODAY)
    assert (result.text, result.kinds) == (left, frozenset({"birth"}))


@pytest.mark.parametrize(
    "text",
    [
        "I ordered it on 12/11/2026",
        "הזמנתי ב-12.11.2026",
        "refilled 3 May 2025",
        "best before 12/2027",
        "03/11/26",
        "take 1/2 tablet",
        "19/45/1965",
        "ibuprofen 200 mg 20 tablets",
        "my child is 12 years old",
        "for babies born early",
        "גלולות למניעת הריון ולידה 2",
        "24 שעות ביממה, 7 ימים",
    ],
)
def test_other_dates_and_numbers_are_not_masked(text: str) -> None:
    assert masked(text, challenge_open=False, today=TODAY).text == text


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("123456782", MASK),
        ("it is 12345678-2", f"it is {MASK}"),
        ("000000018", MASK),
        ('ת"ז 123456789', f'ת"ז {MASK}'),
        ("ת״ז: 12345678", f"ת״ז: {MASK}"),
        ("תז 123456782", f"תז {MASK}"),
        ("תעודת זהות שלי היא 1234567", f"תעודת זהות שלי היא {MASK}"),
        ("מספר הזהות 123456789", f"מספר הזהות {MASK}"),
        ("id number 123456789", f"id number {MASK}"),
        ("my ID is 123456789", f"my ID is {MASK}"),
        ("ID: 123456789", f"ID: {MASK}"),
        ("teudat zehut 12345678", f"teudat zehut {MASK}"),
        ("१२३४५६७८२", MASK),
    ],
)
def test_national_id_is_masked(text: str, left: str) -> None:
    result = masked(text, challenge_open=False, today=TODAY)
    assert (result.text, result.kinds) == (left, frozenset({"national_id"}))


@pytest.mark.parametrize(
    "text",
    [
        "123456789",  # wrong check digit and no word for it
        "03-1234567",
        "02-6234568",
        "my phone is 031234569",
        "הטלפון 031234569",
        "+972501234567",
        "0501234567",
        "patient id 10000101",
        "prescription id 1234567",
        "user123456782@example.com",
        "order 1234567820",
    ],
)
def test_other_long_numbers_are_not_masked(text: str) -> None:
    assert masked(text, challenge_open=False, today=TODAY).text == text


def test_three_secrets_in_one_message_are_all_masked() -> None:
    text = "code 123456, born 15/03/1965, id 123456782, phone 050-1234567"
    result = masked(text, challenge_open=True, today=TODAY)
    assert result.text == f"code {MASK}, born {MASK}, id {MASK}, phone 050-1234567"
    assert result.code == "123456"
    assert result.kinds == {"code", "birth", "national_id"}


def test_masking_again_changes_nothing_and_long_text_is_quick() -> None:
    once = masked(
        "15/03/1965 " * 300 + "9" * 4000 + " x" * 2000 + "a" * 4000, challenge_open=True, today=TODAY
    )
    assert once.text.count(MASK) == 300
    assert masked(once.text, challenge_open=True, today=TODAY).text == once.text
