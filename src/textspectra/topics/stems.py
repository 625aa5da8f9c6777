"""Stems of words: what the forms of a word have in common."""

from __future__ import annotations


class Stems(dict[str, str]):
    """The stems of the words of one language, each computed once, by the Snowball algorithms.

    A language without an algorithm has words for stems, and so have words in another script.

    Parameters
    ----------
    language : str
        A key of :data:`textspectra.topics.words.FUNCTION_WORDS`; of two languages, the first decides.

    Examples
    --------
    >>> stems = Stems("english")
    >>> stems["refund"] == stems["refunds"] == stems["refunded"], stems["star"] == stems["start"]
    (True, False)
    """

    def __init__(self, language: str) -> None:
        import snowballstemmer  # which loads its algorithms for all languages

        super().__init__()
        name = language.split()[0]
        self._stemmer = snowballstemmer.stemmer(name) if name in snowballstemmer.algorithms() else None

    def __missing__(self, word: str) -> str:
        stem = self[word] = self._stemmer.stemWord(word) if self._stemmer else word
        return stem
