"""The tables of the store, their version, and how an older file becomes a newer one: docs/sessions-file.md."""

import sqlite3
from collections.abc import Callable, Mapping
from types import MappingProxyType

APPLICATION_ID = 0x73706368
"""In the file's header: says that it is specchat's ("spch")."""
SCHEMA_VERSION = 1
"""In the header's user_version."""

Migration = Callable[[sqlite3.Connection], None]
MIGRATIONS: Mapping[int, Migration] = MappingProxyType({})
"""What makes a file of version n one of version n + 1, inside a transaction."""

_TOKENIZER = "tokenize = 'unicode61 remove_diacritics 2', prefix = '2 3'"
_TABLES = f"""
CREATE TABLE sessions (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    title TEXT NOT NULL,
    system TEXT NOT NULL,
    created REAL NOT NULL,
    updated REAL NOT NULL,
    deleted REAL,
    model TEXT,
    server TEXT NOT NULL,
    version TEXT,
    parameters TEXT NOT NULL,
    turns INTEGER NOT NULL DEFAULT 0,
    tokens INTEGER,
    steps INTEGER,
    drafted INTEGER,
    accepted INTEGER,
    evidence TEXT NOT NULL DEFAULT 'none',
    rate_on REAL,
    rate_off REAL,
    owner TEXT
);
CREATE INDEX sessions_by_update ON sessions (updated);
CREATE TABLE turns (
    key INTEGER PRIMARY KEY,
    session INTEGER NOT NULL REFERENCES sessions (key) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    began REAL NOT NULL,
    replaced INTEGER NOT NULL DEFAULT 0,
    outcome TEXT NOT NULL DEFAULT 'running',
    tokens INTEGER,
    steps INTEGER,
    drafted INTEGER,
    accepted INTEGER,
    evidence TEXT NOT NULL DEFAULT 'none',
    UNIQUE (session, number)
);
CREATE TABLE texts (
    turn INTEGER PRIMARY KEY REFERENCES turns (key) ON DELETE CASCADE,
    prompt TEXT NOT NULL,
    reply TEXT NOT NULL DEFAULT '',
    thinking TEXT NOT NULL DEFAULT ''
);
CREATE TABLE recordings (
    turn INTEGER PRIMARY KEY REFERENCES turns (key) ON DELETE CASCADE,
    records BLOB NOT NULL
);
CREATE TABLE journal (
    key INTEGER PRIMARY KEY,
    turn INTEGER NOT NULL REFERENCES turns (key) ON DELETE CASCADE,
    records BLOB NOT NULL
);
CREATE INDEX journal_by_turn ON journal (turn);
CREATE VIRTUAL TABLE texts_index USING fts5 (
    prompt, reply, thinking, content = 'texts', content_rowid = 'turn', {_TOKENIZER}
);
CREATE VIRTUAL TABLE titles_index USING fts5 (title, content = 'sessions', content_rowid = 'key', {_TOKENIZER});
"""
_FORGET_TEXTS = (
    "INSERT INTO texts_index (texts_index, rowid, prompt, reply, thinking)"
    " VALUES ('delete', old.turn, old.prompt, old.reply, old.thinking);"
)
_LEARN_TEXTS = (
    "INSERT INTO texts_index (rowid, prompt, reply, thinking) VALUES (new.turn, new.prompt, new.reply, new.thinking);"
)
_FORGET_TITLE = "INSERT INTO titles_index (titles_index, rowid, title) VALUES ('delete', old.key, old.title);"
_LEARN_TITLE = "INSERT INTO titles_index (rowid, title) VALUES (new.key, new.title);"
# The indexes hold no text of their own: they have to be told the old text to forget it.
_TRIGGERS = (
    f"CREATE TRIGGER texts_added AFTER INSERT ON texts BEGIN {_LEARN_TEXTS} END",
    f"CREATE TRIGGER texts_removed AFTER DELETE ON texts BEGIN {_FORGET_TEXTS} END",
    f"CREATE TRIGGER texts_changed AFTER UPDATE ON texts BEGIN {_FORGET_TEXTS} {_LEARN_TEXTS} END",
    f"CREATE TRIGGER title_added AFTER INSERT ON sessions BEGIN {_LEARN_TITLE} END",
    f"CREATE TRIGGER title_removed AFTER DELETE ON sessions BEGIN {_FORGET_TITLE} END",
    f"CREATE TRIGGER title_changed AFTER UPDATE OF title ON sessions BEGIN {_FORGET_TITLE} {_LEARN_TITLE} END",
)


def create(db: sqlite3.Connection) -> None:
    """Make the tables, in the caller's transaction."""
    for statement in (*_TABLES.split(";\n"), *_TRIGGERS):
        if statement.strip():
            db.execute(statement)
    stamp(db, SCHEMA_VERSION)


def stamp(db: sqlite3.Connection, version: int) -> None:
    """Write whose file it is and of which version."""
    db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    db.execute(f"PRAGMA user_version = {version}")
