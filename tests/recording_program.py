"""Records replies at 300 events a second into a store until it is killed, and prints when each event was told.

A line is `session turn event seconds-since-1970`; the number of the event is the word that it brought.
"""

import os
import sys
import time
from pathlib import Path

from fakes import server_info
from recorded import Talk
from specchat.core.events import ChunkArrived
from specchat.core.speculation import Channel
from specchat.storage.store import Store

RATE = 300
EVENTS_OF_A_REPLY = 400


def main(path: Path) -> None:
    opened = Store.open(path)
    recorder = opened.store.recorder(lambda trouble: print(trouble, file=sys.stderr, flush=True))
    talk = Talk(recorder, server=server_info())
    start, told = time.monotonic(), 0
    while True:
        talk.begin(f"prompt {len(talk.conversation.turns)}", pieces_expected=False)
        for number in range(EVENTS_OF_A_REPLY):
            while time.monotonic() - start < told / RATE:
                time.sleep(0.001)
            text = ((Channel.CONTENT, f" {number}"),)
            talk.come(ChunkArrived(time.monotonic(), text, token_ids=(number,)))
            told += 1
            place = len(talk.conversation.turns) - 1
            os.write(1, f"{recorder.session} {place} {number} {time.time():.6f}\n".encode())
        talk.end()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
