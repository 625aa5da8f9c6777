"""Words and phrases of texts in any script."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from textspectra.words import tokens as words
from textspectra.words.languages import STOP_WORDS, read_lists
from textspectra.words.tokens import MAX_NON_ANSWER, NON_ANSWERS, count_terms, has_content, segmenter


@pytest.mark.parametrize(
    "text",
    ["", " ", "-", ".", "...", "---", "?", "n/a", "N/A.", "NA", "None", "none!", " Nothing ", "asdf", "ASDFGH",
     "xxx", "aaaaa", "👍", "❤️", "😀😀", "_", "keine Angabe", "Keine Ahnung!", "k.A.", "<br>", "https://a.b/c",
     "&nbsp;", "weiß nicht", "RAS", "néant", "sin comentarios", "nada", "niente", "não sei", "geen", "n.v.t.",
     "vet ej", "ved ikke", "nie wiem", "не знаю", "немає", "bilmiyorum", "特になし", "없음", "I don’t know",
     "I don't know", "none at this time", "x", "Test", "¯\\_(ツ)_/¯"],
)  # fmt: skip
def test_texts_that_say_nothing(text):
    assert not has_content(text)


@pytest.mark.parametrize(
    "text",
    ["a", "B", "5", "10", "ok", "yes", "nothing works", "none of the buttons work", "No refund yet", "nada funciona",
     "keine Heizung", "parcel", "C++", "退款", "ok 👍", "Tom", "-" * 99 + "a"],
)  # fmt: skip
def test_texts_that_say_something(text):
    assert has_content(text)


def test_every_language_with_stop_words_has_non_answers():
    assert set(STOP_WORDS) <= set(read_lists("non_answers.txt", ","))
    assert max(map(len, NON_ANSWERS)) <= MAX_NON_ANSWER


@given(st.sampled_from(sorted(NON_ANSWERS)), st.sampled_from(["", " ", ".", "!!", " …", "\n"]))
def test_case_and_marks_around_a_non_answer_do_not_matter(phrase, mark):
    assert not has_content(mark + phrase + mark)
    assert not has_content(f"{phrase[0].title()}{phrase[1:]}{mark}")


def terms_of(text):
    return {term for counts in count_terms([text]).values() for term in counts.texts}


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("Where is my credit card? Paid twice.", {"credit", "card", "credit card", "paid", "twice", "paid twice"}),
        ("I don't know, it's the customer’s e-mail", {"customer", "e-mail", "customer e-mail"}),
        (
            "l’adresse et la commande dans le colis",
            {"adresse", "commande", "colis", "adresse et commande", "commande dans colis"},
        ),
        ("I have lost my new card", {"lost", "new", "card", "lost new", "new card", "lost new card"}),
        ("card isn't working 12345 twice", {"card", "working", "card isn't working", "twice"}),
        ("room 101 in C++ or C# on 24.12.", {"room", "c++", "c#", "c++ or c#"}),
        ("101", {"101"}),
        ("see https://example.org/a-b?c=d&e and www.example.org/f", set()),
        ("हिन्दी भाषा", {"हिन्दी", "भाषा", "हिन्दी भाषा"}),
        ("cafe\u0301 soft\u00adware", {"café", "software", "café software"}),
        ("我的订单什么时候发货", {"订单", "时候", "候发", "发货", "时候发货"}),
        ("iPhoneの返金", {"iphone", "返金"}),
        ("ありがとう", {"ありがとう"}),
        ("คืนเงิน", {"คืน", "นเ", "เงิ", "งิน"}),
        ("\x00 \u202e 🙂 --- ''' \ud800", set()),
        ("a" * 5000, set()),
    ],
)
def test_terms(text, terms, monkeypatch):
    monkeypatch.setattr(words, "segmenter", lambda language: None)
    assert terms_of(text) == terms


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("我的订单什么时候发货", {"订单", "发货"}),
        ("iPhone手机: 信用卡被拒绝了", {"iphone", "手机", "信用卡", "拒绝"}),
        ("好吗", {"好"}),
        ("请求退款" * 200, {"请求", "退款"}),
    ],
)
def test_chinese_terms_are_words(text, terms):
    if segmenter("Chinese") is None:
        pytest.skip("needs the extra cjk")
    assert terms_of(text) == terms


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("iPhoneの返金はまだですか", {"iphone", "返金"}),
        ("クレジットカードの請求書を忘れました", {"クレジットカード", "請求書", "忘れる"}),
        ("お問い合わせの返信が来ません", {"問い合わせ", "返信", "来る"}),
        ("ありがとう", {"ありがとう"}),
    ],
)
def test_japanese_terms_are_words(text, terms):
    if segmenter("Japanese") is None:
        pytest.skip("needs the extra cjk")
    assert terms_of(text) == terms


def test_texts_without_chinese_or_japanese_load_no_segmenter(monkeypatch):
    monkeypatch.setattr(words, "segmenter", lambda language: pytest.fail(f"{language} was loaded"))
    assert terms_of("คืนเงิน") == {"คืน", "นเ", "เงิ", "งิน"}
    assert terms_of("パスワード reset café 환불") == {
        "パスワード",
        "reset",
        "café",
        "환불",
        "reset café",
        "café 환불",
        "reset café 환불",
    }


@given(st.text(st.sampled_from("退款的什卡返金はまだカーคื\u3005\U00020000a1 。\n\u0301"), max_size=1200))
def test_any_mixture_of_scripts_is_read(text):
    assert all(term.strip() == term and term for term in terms_of(text))
