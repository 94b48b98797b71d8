"""A scroll view that follows its end until the reader scrolls up, and again when the reader comes back to it."""

from textual import events
from textual.geometry import Size
from textual.reactive import reactive
from textual.scroll_view import ScrollView

from specchat.ui.messages import FollowingChanged


class FollowingView(ScrollView):
    """Scrolls by rows, pages and the wheel. What it shows, and when that grows, is the subclass's."""

    live: reactive[bool] = reactive(False)
    """Does a reply grow?"""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.following = True

    def follow(self) -> None:
        """Go to the end and stay there."""
        self.set_following(following=True)
        self.scroll_to(y=self.max_scroll_y, animate=False, immediate=True)

    def set_following(self, *, following: bool) -> None:
        """Follow the end or not, without a move."""
        if following is not self.following:
            self.following = following
            self._hide_scrollbar()
            self.post_message(FollowingChanged(following))

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Following ends with a move up, and begins again where a move down reaches the end."""
        if self._hurries:
            # The scroll bar is not there: told of a move, it would make Textual lay out the screen to look for it.
            self.refresh(self.size.region)
        else:
            super().watch_scroll_y(old_value, new_value)
        if new_value < old_value and new_value < self.max_scroll_y:
            self.set_following(following=False)
        elif new_value > old_value and new_value >= self.max_scroll_y:
            self.set_following(following=True)

    def watch_live(self) -> None:
        """A reply begins or ends."""
        self._hide_scrollbar()

    def _hide_scrollbar(self) -> None:
        """Leave out the scroll bar while a reply carries the end along: to draw it costs as much as the text does."""
        self.set_class(self._hurries, "-hurried")
        if not self._hurries:
            self.vertical_scrollbar.window_virtual_size = self.virtual_size.height
            self.vertical_scrollbar.position = self.scroll_y

    @property
    def _hurries(self) -> bool:
        return self.live and self.following

    def take_rows(self, size: Size) -> None:
        """Have another size. More rows move nothing on the screen, so it is not laid out again for them.

        Args:
            size: Of all rows, in sight or not.
        """
        if size.width != self.virtual_size.width:
            self.virtual_size = size
        elif size != self.virtual_size:
            self.set_reactive(FollowingView.virtual_size, size)
            if not self._hurries:
                self.vertical_scrollbar.window_virtual_size = size.height
            self.scroll_y = self.validate_scroll_y(self.scroll_y)

    def action_move(self, rows: int) -> None:
        """Scroll by some rows."""
        self._scroll_rows(rows)

    def action_page(self, pages: int) -> None:
        """Scroll by pages; one row stays in sight."""
        self._scroll_rows(pages * self.page_rows)

    @property
    def page_rows(self) -> int:
        """Rows that a page moves by."""
        return max(1, self.size.height - 1)

    def action_home(self) -> None:
        """Go to the top."""
        self._scroll_rows(-self.virtual_size.height)

    def action_end(self) -> None:
        """Go to the end and follow it."""
        self.follow()

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """The wheel."""
        event.stop()
        event.prevent_default()
        self._scroll_rows(-3)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """The wheel."""
        event.stop()
        event.prevent_default()
        self._scroll_rows(3)

    def reveal(self, row: int) -> None:
        """Bring a row into sight: by as little as possible where it is near, else into the middle."""
        top, height = self.scroll_offset.y, self.size.height
        if top <= row < top + height:
            return
        if row < top:
            target = row if top - row < height else row - height // 2
        else:
            target = row - height + 1 if row - top < 2 * height else row - height // 2
        self.scroll_to(y=target, animate=False, immediate=True)

    def _scroll_rows(self, rows: int) -> None:
        # Without animation: a reply that grows meanwhile would carry an animated move back to the end.
        self.scroll_to(y=self.scroll_offset.y + rows, animate=False, immediate=True)
