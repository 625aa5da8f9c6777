"""Column names that announce texts."""

TEXT_NAMES = (
    ("text", "texts"),
    ("message", "messages", "sentence", "sentences", "utterance", "utterances"),
    (
        "body", "title", "query", "question", "comment", "review", "content", "description",
        "queries", "questions", "comments", "reviews", "contents", "descriptions", "titles",
        "headline", "subject", "summary", "abstract", "caption", "document", "documents", "feedback", "tweet",
        "post", "prompt", "answer", "response", "complaint", "note", "notes", "transcript", "snippet",
        "full_text", "review_text", "comment_text", "text_clean",
    ),
)  # fmt: skip
"""From the most to the least certain; the names within a group are equal."""

ALL_TEXT_NAMES = frozenset(name for group in TEXT_NAMES for name in group)
