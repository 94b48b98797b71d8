"""Which tool call a part belongs to, for servers that number their calls, that don't, and that number all of them 0."""


class ToolSlots:
    """Sorts the parts of one reply's tool calls into calls."""

    def __init__(self) -> None:
        self._last = 0
        self._of_id: dict[str, int] = {}
        self._id_of: dict[int, str] = {}
        self._at: dict[int, int] = {}
        self._used: set[int] = set()
        self._names: dict[int, str] = {}

    def find(self, number: int | None, call_id: str, *, named: bool) -> int:
        """The call that a part belongs to.

        Args:
            number: The part's own `index`, if it has one.
            call_id: The part's id, or "".
            named: Does the part hold a function's name?
        """
        slot = self._by_id(call_id) if number is None else self._by_number(number, call_id, named=named)
        if call_id:
            self._of_id.setdefault(call_id, slot)
            self._id_of.setdefault(slot, call_id)
        self._used.add(slot)
        self._last = slot
        return slot

    def new_in_name(self, slot: int, name: str) -> str:
        """What a part adds to the name of its call; some servers repeat the whole name in every part."""
        known = self._names.get(slot, "")
        if name == known:
            return ""
        self._names[slot] = known + name
        return name

    def _by_id(self, call_id: str) -> int:
        """Servers that number no calls give each a new id; a part without one goes on with the last call."""
        if not call_id:
            return self._last
        return self._of_id[call_id] if call_id in self._of_id else self._free()

    def _by_number(self, number: int, call_id: str, *, named: bool) -> int:
        slot = self._at.get(number)
        if slot is None:
            slot = self._free() if number in self._used else number
        elif named and call_id and self._id_of.get(slot, call_id) != call_id:
            # Another id with a name of its own under the same number is another call.
            slot = self._of_id[call_id] if call_id in self._of_id else self._free()
        self._at[number] = slot
        return slot

    def _free(self) -> int:
        return max(self._used, default=-1) + 1
