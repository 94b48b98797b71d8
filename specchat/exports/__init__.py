"""Replies and sessions as data for others: one schema for every JSON, a CSV row a reply."""

from specchat.exports.reply_json import SCHEMA, reply_object
from specchat.exports.session_files import write_session

__all__ = ["SCHEMA", "reply_object", "write_session"]
