"""Words and phrases of texts in any script."""

import pytest

from textspectra.topics.words import count_terms


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("Where is my credit card? Paid twice.", {"credit", "card", "credit card", "paid", "twice", "paid twice"}),
        ("I don't know, it's the customer’s e-mail", {"customer", "e-mail", "customer e-mail"}),
        (
            "l’adresse et la commande dans le colis",
            {"adresse", "commande", "colis", "adresse et la commande", "commande dans le colis"},
        ),
        ("I have lost my new card", {"lost", "new", "card", "lost my new", "new card", "lost my new card"}),
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
def test_terms(text, terms):
    assert {term for counts in count_terms([text]).values() for term in counts.texts} == terms
