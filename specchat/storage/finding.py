"""Finds places in what was said, with a snippet of each."""

import sqlite3

from specchat.storage.searching import HIT, HIT_END, Hit, marked, readable, terms_of

_PARTS = ("prompt", "reply", "thinking")
_SNIPPET_TOKENS = 16
_SNIPPET = f"snippet(texts_index, {{}}, '{HIT}', '{HIT_END}', '…', {_SNIPPET_TOKENS})"
_TURNS = (
    f"SELECT {', '.join(_SNIPPET.format(part) for part in range(len(_PARTS)))}, id, title, updated, number"  # noqa: S608 - own names
    " FROM texts_index JOIN turns ON turns.key = texts_index.rowid JOIN sessions ON sessions.key = turns.session"
    " WHERE texts_index MATCH ? AND deleted IS NULL ORDER BY texts_index.rowid DESC LIMIT ?"
)
_TITLES = (
    f"SELECT snippet(titles_index, 0, '{HIT}', '{HIT_END}', '…', {_SNIPPET_TOKENS}), id, sessions.title, updated"  # noqa: S608
    " FROM titles_index JOIN sessions ON sessions.key = titles_index.rowid"
    " WHERE titles_index MATCH ? AND deleted IS NULL ORDER BY updated DESC LIMIT ?"
)


def hits(db: sqlite3.Connection, query: str, limit: int) -> list[Hit]:
    """Titles and turns that hold all words of the query, the latest first; [] for a query without words.

    Args:
        db: A connection.
        query: What a user typed.
        limit: At most so many.
    """
    words = " ".join(terms_of(query))
    if not words:
        return []
    found = [
        Hit(session, readable(title), updated, None, "title", *marked(snippet))
        for snippet, session, title, updated in db.execute(_TITLES, (words, limit))
    ]
    for *snippets, session, title, updated, number in db.execute(_TURNS, (words, limit - len(found))):
        part = next((i for i, snippet in enumerate(snippets) if HIT in snippet), 0)
        found.append(Hit(session, readable(title), updated, number, _PARTS[part], *marked(snippets[part])))
    return found
