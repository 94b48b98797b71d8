"""What can go wrong with the store, each one sentence with a next step.

SpecchatError
└── StoreError              the store cannot do what was asked
    ├── StoreTooNew         a newer specchat wrote the file
    ├── StoreUnavailable    the file cannot be opened, read or written now
    ├── SessionNotFound     there is no such session
    ├── SessionInUse        it is being talked in, here or in another window
    └── RecordingRefused    what was kept holds something that this version does not know
"""

from specchat.core.errors import SpecchatError


class StoreError(SpecchatError):
    """The store of conversations cannot do what was asked."""


class StoreTooNew(StoreError):
    """The file was written by a newer specchat; nothing of it was touched."""


class StoreUnavailable(StoreError):
    """The file cannot be opened, read or written now."""


class SessionNotFound(StoreError):
    """There is no session of that id."""


class SessionInUse(StoreError):
    """Somebody talks in it now.

    Attributes:
        process_id: Of the program that does.
    """

    def __init__(self, message: str, hint: str = "", *, process_id: int) -> None:
        super().__init__(message, hint)
        self.process_id = process_id


class RecordingRefused(StoreError):
    """The recording of a turn holds something that this version does not know."""
