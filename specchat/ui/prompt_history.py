"""Earlier prompts, as the arrow keys walk through them. Keeps what is being typed meanwhile; writes nothing."""


class PromptHistory:
    """The prompts of this session, and a place among them."""

    def __init__(self) -> None:
        self._prompts: list[str] = []
        self._at = 0
        """Index into the prompts; their number stands for what is being typed."""
        self._draft = ""

    @property
    def is_walking(self) -> bool:
        """Is an earlier prompt shown, and not what is being typed?"""
        return self._at < len(self._prompts)

    def remember(self, prompt: str) -> None:
        """Keep a prompt that was sent; walking begins behind it."""
        if not self._prompts or self._prompts[-1] != prompt:
            self._prompts.append(prompt)
        self._at = len(self._prompts)
        self._draft = ""

    def walk(self, step: int, shown: str) -> str | None:
        """What to show after a step; None where there is nothing further.

        Args:
            step: -1 for the prompt before, 1 for the next.
            shown: What is shown now; kept if it is what is being typed.
        """
        at = self._at + step
        if not 0 <= at <= len(self._prompts):
            return None
        if not self.is_walking:
            self._draft = shown
        self._at = at
        return self._prompts[at] if self.is_walking else self._draft
