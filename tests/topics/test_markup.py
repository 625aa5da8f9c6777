"""Markup and addresses are no part of what a text says."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from textspectra.topics.markup import plain_text


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("<p>My <b>parcel</b> is late<br/>again</p>", "My parcel is late again"),
        ('<a href="https://a.b/c?d=1&amp;e" target=_blank>my order</a>', "my order"),
        ("Tom &amp; Jerry&#39;s &quot;shop&quot;&nbsp;&eacute;", 'Tom & Jerry\'s "shop" é'),
        ("&lt;br&gt;late&lt;/br&gt;", "late"),
        ("see https://example.com/a?b=c#d now", "see now"),
        ("WWW.Example.com is down", "is down"),
        ("<DIV CLASS='x'>late</DIV> <!-- note -->", "late"),
    ],
)
def test_what_is_left(text, plain):
    assert " ".join(plain_text(text).split()) == plain


@pytest.mark.parametrize(
    "text",
    ["I <3 it", "a < b and c > d", "if a<b and b>c", "AT&T and R&D", "dear <name>, hello", "List<String> fails",
     "a <b", "x & y;", "the https site", "www", "p > 0.05", "<", "&;"],
)  # fmt: skip
def test_what_is_no_markup_stays(text):
    assert plain_text(text) == text


@given(st.text(alphabet="<>&;ab p/=\"'#:w.ht", max_size=60))
def test_nothing_is_added(text):
    assert len(plain_text(text)) <= len(text)
