"""The failures that a user may meet, each one sentence with a next step.

SpecchatError
├── ConfigurationError        an option, a file or a variable is wrong
│   └── ModelChoiceNeeded     the server serves several models and none was named
├── ServerUnreachable         no connection, or no HTTP at the other end
├── ServerRefused             an HTTP status that is an error, or an error in a 200 answer
│   ├── AuthenticationRefused 401 or 403
│   ├── ModelNotServed        404 for the model
│   ├── PromptTooLong         the context is smaller than the prompt and what was asked for
│   └── FieldRefused          the server does not know a field of the request
├── NothingToRepeat           no reply that could be asked again or continued now
├── CannotSwitch              speculation cannot be switched so here
│   └── RelaunchNeeded        it can, if the server is launched anew
└── StreamBroken              the reply began and did not come to its end
"""

from collections.abc import Sequence


class SpecchatError(Exception):
    """A failure that is the user's to know about.

    Attributes:
        message: What is wrong, as one sentence without a final full stop needed.
        hint: What to do next, or "".
    """

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()


class ConfigurationError(SpecchatError):
    """An option, a file or an environment variable does not make sense."""


class ModelChoiceNeeded(ConfigurationError):
    """The server serves several models, and the user has to say which.

    Attributes:
        models: Their names, in the server's order.
    """

    def __init__(self, message: str, hint: str = "", *, models: Sequence[str]) -> None:
        super().__init__(message, hint)
        self.models = tuple(models)


class ServerUnreachable(SpecchatError):
    """There is no server at the address, or it does not speak HTTP."""


class ServerRefused(SpecchatError):
    """The server answered, and the answer is an error.

    Attributes:
        status: The HTTP status, or the code in the error object of a 200 answer; None if there was none.
    """

    def __init__(self, message: str, hint: str = "", *, status: int | None = None) -> None:
        super().__init__(message, hint)
        self.status = status


class AuthenticationRefused(ServerRefused):
    """The server wants a key, or another one."""


class ModelNotServed(ServerRefused):
    """The server does not serve the model that was asked for."""


class PromptTooLong(ServerRefused):
    """The prompt and the tokens asked for do not fit the server's context."""


class FieldRefused(ServerRefused):
    """The server does not know fields of the request.

    Attributes:
        fields: Their names, as far as the server named them.
    """

    def __init__(self, message: str, hint: str = "", *, status: int | None = None, fields: Sequence[str] = ()) -> None:
        super().__init__(message, hint, status=status)
        self.fields = tuple(fields)


class NothingToRepeat(SpecchatError):
    """There is no reply that could be replaced or continued now."""


class CannotSwitch(SpecchatError):
    """Speculation cannot be switched as asked: the message says what is possible."""


class RelaunchNeeded(CannotSwitch):
    """Speculation can be switched as asked if the server is launched anew, which is for the user to decide.

    Attributes:
        limit: Proposals for each step that it would be launched with; 0 for none, None for as it was first launched.
    """

    def __init__(self, limit: int | None) -> None:
        super().__init__("For this the server has to be launched anew.", "In the chat, /spec does that.")
        self.limit = limit


class StreamBroken(SpecchatError):
    """The reply began and broke off: what came before is kept by whoever received it."""
