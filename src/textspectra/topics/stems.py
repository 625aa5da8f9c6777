"""Stems of words, which are equal for the forms of a word."""

from __future__ import annotations

from functools import cache


class Stems(dict[str, str]):
    """The stems of the words of one language, each computed once, by the Snowball algorithms.

    Languages without an algorithm, and words in another script, are left unchanged.
    Of a pair such as "danish and norwegian", the first language counts.

    Examples
    --------
    >>> stems = Stems("english")
    >>> stems["refund"] == stems["refunds"] == stems["refunded"], stems["star"] == stems["start"]
    (True, False)
    """

    def __init__(self, language: str) -> None:
        import snowballstemmer  # late, because it loads the algorithms of all languages

        super().__init__()
        name = language.split()[0]
        self._stemmer = snowballstemmer.stemmer(name) if name in snowballstemmer.algorithms() else None

    def __missing__(self, word: str) -> str:
        stem = self[word] = self._stemmer.stemWord(word) if self._stemmer else word
        return stem


@cache
def stems_of(language: str) -> Stems:
    """Return the stems of a language; they are kept, because groups and their parts have the same words."""
    return Stems(language)
