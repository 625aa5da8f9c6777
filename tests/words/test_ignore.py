"""Words to ignore: what each kind of pattern takes out of a text, what it leaves, and what it refuses."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from textspectra.errors import UserError
from textspectra.words.ignore import KINDS, Ignored

TAKEN_OUT = [
    # kinds
    ("handles", "@united lost my bag, ask @JetBlue's crew", "lost my bag, ask crew"),
    ("handles", "mail me@example.com or @bob@social.example", "mail me@example.com or"),
    ("urls", "see https://a.example/x?y, shop.example/cart and acme.com now", "see and now"),
    ("urls", "and/or e.g. this.That me@acme.com", "and/or e.g. this.That me@acme.com"),
    ("emails", "write to joe.doe+x@mail.example.org, @joe", "write to , @joe"),
    ("numbers", "order #12345 cost $12.50 or 50 % at 12:30 on 2024-05-01", "order cost or at on"),
    ("numbers", "iPhone12 at 3pm, 我有3个", "iPhone12 at 3pm, 我有 个"),
    # words and phrases
    ("United", "UNITED, united's @united #United reunited", ", reunited"),
    ("@united", "united @United's @unitedair", "united @unitedair"),
    ("don", "I don't know Don", "I don't know"),
    ("don't", "I don’t know", "I know"),
    ("adresse", "l'adresse et l’Adresse", "et"),
    ("Straße", "die STRASSE hier", "die hier"),
    ("cafe\u0301", "the café here", "the here"),
    ("हिन्दी", "मैं हिन्दी बोलता", "मैं बोलता"),
    ("cash on delivery", "pay Cash  on\ndelivery, not cash", "pay , not cash"),
    ("R&D", "the R&amp;D team", "the team"),
    ("C++", "C++ or C", "or C"),
    ("wi-fi", "Wi-Fi is down", "is down"),
    (":-)", "thanks :-)", "thanks"),
    # scripts without spaces
    ("退款", "我要退款,谢谢", "我要 ,谢谢"),
    ("iphone手机", "我的iPhone手机坏了", "我的 坏了"),
    # wildcards
    ("@*", "Hi @JetBlue's crew, me@example.com", "Hi crew, me@example.com"),
    ("#*", "so #fail-whale, C# too", "so , C# too"),
    ("*ware", "Software, hardware's wares", ", wares"),
    ("free*", "freemium @freedom carefree", "carefree"),
    ("gold * plan", "the Gold family plan here", "the here"),
    # expressions
    (r"/\bflight \d+/", "Flight 123 is late", "is late"),
    ("/x*/", "axxb", "a b"),
    (r"/\bnumbers\b/", "numbers 1 2", "1 2"),
    ("/(?-i:US)/", "US and us", "and us"),
]  # fmt: skip


@pytest.mark.parametrize(("pattern", "text", "left"), TAKEN_OUT)
def test_a_pattern_takes_out_its_words_and_leaves_single_spaces(pattern, text, left):
    assert Ignored.of([pattern]).apply(text) == left


def test_expressions_see_the_text_as_it_is_and_an_address_goes_before_its_number():
    ignored = Ignored.of(["numbers", "urls", r"/flight \d+/"])
    assert ignored.apply("flight 12 from shop.example/12 at 7") == "from at"
    assert Ignored.of(["customer", "customer service"]).apply("customer service, customer") == ","


@given(st.text(), st.text(st.characters(categories=["Lu", "Ll"]), min_size=1, max_size=3))
def test_a_text_without_the_word_stays_the_same_object_and_no_text_is_left_with_it(text, word):
    ignored = Ignored.of([word])
    read = ignored.apply(text)
    assert read is text or word.casefold() in text.casefold() or not text.isascii()
    assert ignored.apply(f"alpha {word} omega") == "alpha omega" or word.casefold() in ("alpha", "omega")


def test_the_patterns_that_a_text_has_are_told():
    matched = set()
    patterns = ["Gold", "handles", "*ware", "退款", "/z+/", "cash on delivery", "nowhere"]
    Ignored.of(patterns).take_out("@me: gold software 我要退款 cash on delivery zz", matched)
    assert matched == set(patterns[:-1])
    assert Ignored.of(["Gold", "gold", "/A/", "/a/"]).patterns == ("gold", "/A/", "/a/")


def test_ten_thousand_words_take_less_time_than_embedding():
    words = [f"word{number}" for number in range(9_000)] + [f"the word{number}" for number in range(1_000)]
    ignored, texts = Ignored.of(words), [f"is the word{number} or the words here" for number in range(0, 20_000, 20)]
    start = time.thread_time()
    read = [ignored.apply(text) for text in texts]
    assert time.thread_time() - start < 1  # a model takes about a millisecond for a text
    assert read[0] == "is or the words here"
    assert read[100] == "is the or the words here"
    assert read[-1] == texts[-1]


@pytest.mark.parametrize("pattern", [*KINDS, "@*", "*ware", "a*b", "a b", "我我"])
@pytest.mark.parametrize("piece", ["a", "a.", "a-", "a'", "a@", "@a", "1-", "1.", "a/", "a.aa/", "a b ", "我1", "'s"])
def test_time_does_not_grow_with_the_square_of_a_text(pattern, piece):
    ignored, seconds = Ignored.of([pattern]), []
    for length in (10_000, 100_000):
        start = time.thread_time()
        ignored.apply(piece * (length // len(piece)))
        seconds.append(time.thread_time() - start)
    assert seconds[1] < 50 * max(seconds[0], 0.02)  # ten times the length takes about ten times as long, not a hundred


def test_an_expression_that_runs_away_is_stopped_and_named():
    message = (
        "The expression '/(a+)+$/' to ignore takes too long for 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'...: more "
        "than 1 s. Write it without a repetition inside a repetition, such as (a+)+."
    )
    with pytest.raises(UserError, match=f"^{re.escape(message)}$"):
        Ignored.of(["/(a+)+$/"]).apply("a" * 3_000 + "!")


TOO_MUCH = "to ignore cannot be used: it has too many repetitions or parentheses, or a recursion."


@pytest.mark.parametrize(
    ("patterns", "message"),
    [
        ("handles", "ignore must be a list of words, such as ['handles', 'freemium'], but it is 'handles'."),
        (7, "ignore must be a list of words, such as ['handles', 'freemium'], but it is 7."),
        (["a", 7], "ignore has 7 (int); every word to ignore is a str."),
        ([" "], "ignore has ' ', which is blank; leave it out."),
        (["//"], "ignore has '//', which is blank; leave it out."),
        (["x" * 1001], f"'{'x' * 40}'... to ignore has more than 1,000 characters; shorten it."),
        (["\ud800"], "'\\ud800' to ignore holds half of a character; write it again."),
        (["/(a/"], "The expression '/(a/' to ignore cannot be used: missing ) at character 3 between the slashes."),
        (["/(a{999}){999}/"], f"The expression '/(a{{999}}){{999}}/' {TOO_MUCH}"),
        (["/(?R)/"], f"The expression '/(?R)/' {TOO_MUCH}"),
    ],
)
def test_bad_patterns_are_refused(patterns, message):
    with pytest.raises(UserError, match=f"^{re.escape(message)}$"):
        Ignored.of(patterns)
