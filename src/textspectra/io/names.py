"""Column names: those that announce texts, and how many a message lists."""

from __future__ import annotations

from collections.abc import Sequence

TEXT_NAMES = (
    ("text", "texts"),
    ("message", "messages", "sentence", "sentences", "utterance", "utterances"),
    (
        "body", "title", "query", "question", "comment", "review", "content", "description",
        "queries", "questions", "comments", "reviews", "contents", "descriptions", "titles",
        "headline", "subject", "summary", "abstract", "caption", "document", "documents", "feedback", "tweet",
        "post", "prompt", "answer", "response", "complaint", "note", "notes", "transcript", "snippet",
        "remark", "remarks", "verbatim", "verbatims", "free_text", "freetext", "free text",
        "kommentar", "kommentare", "freitext", "nachricht", "bemerkung", "bemerkungen", "beschreibung", "beschwerde",
        "frage", "antwort", "rückmeldung", "commentaire", "commentaires", "remarque", "avis", "réponse", "comentario",
        "comentarios", "mensaje", "pregunta", "respuesta", "commento", "commenti", "messaggio", "risposta",
        "comentário", "comentários", "mensagem", "resposta", "opmerking", "opmerkingen", "bericht", "vraag", "reactie",
        "kommentarer", "meddelande", "besked", "komentarz", "komentarze", "uwagi", "комментарий", "отзыв", "сообщение",
        "коментар", "yorum", "mesaj",
        "full_text", "review_text", "comment_text", "text_clean",
    ),
)  # fmt: skip
"""From the most to the least certain; the names within a group are equal."""

ALL_TEXT_NAMES = frozenset(name for group in TEXT_NAMES for name in group)

LISTED, LONGEST = 30, 60
"""How many names a message lists, and how many characters of each."""


def in_words(names: Sequence[str]) -> str:
    """List names in a message, which stays readable whatever a file holds.

    Examples
    --------
    >>> in_words(["id", "text"]), in_words(["x" * 99] + ["y"] * 99)[-22:]
    ("'id', 'text'", "'y', 'y' and 70 others")
    """
    shown = ", ".join(repr(name if len(name) <= LONGEST else f"{name[:LONGEST]}…") for name in names[:LISTED])
    return shown if len(names) <= LISTED else f"{shown} and {len(names) - LISTED:,} others"
