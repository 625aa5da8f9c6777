"""Blocks as Markdown and HTML."""

from textspectra_study.page.blocks import Bullets, Heading, Paragraph, Row, Span, Table
from textspectra_study.page.render import to_html, to_markdown


def test_blocks_mean_the_same_in_both_languages():
    blocks = [
        Heading(2, "A & B"),
        Paragraph(("see ", Span("the paper", link="https://example.org"), Span("x_y", "code"))),
        Bullets(["one", ("two ", Span("three", "em"))]),
        Table("Caption", ("Name", "Value"), [Row(("a|b", Span("1", "strong"))), Row(("paper", "2"), from_paper=True)]),
    ]
    markdown = to_markdown(blocks)
    assert "see [the paper](https://example.org)`x_y`" in markdown
    assert "| a\\|b | **1** |" in markdown
    assert "- two *three*" in markdown
    html = to_html("T", blocks)
    assert '<h2 id="a-b">A &amp; B</h2>' in html
    assert 'see <a href="https://example.org">the paper</a><code>x_y</code>' in html
    assert '<tr class="paper">' in html
