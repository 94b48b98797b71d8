"""Sessions with servers that were launched here: the other half of a pair, and what a launch anew left."""

from fake_local_servers import FakeLocalServers
from scripted_server import Request, ScriptedServer, answer, chunk, models, sse
from specchat.backends.sessions import Sessions
from specchat.core.errors import SpecchatError
from specchat.core.switching import BY_ITSELF, Speculation, Way
from specchat.session.chat import ChatSession
from specchat.session.local_servers import LaunchedServer
from specchat.wiring import connection_from

K2 = [
    *(f"vllm:spec_decode_num_{name}_total{{%s}}" for name in ("drafts", "draft_tokens", "accepted_tokens")),
    *(f'vllm:spec_decode_num_accepted_tokens_per_pos_total{{%s,position="{index}"}}' for index in (0, 1)),
]


class Server(ScriptedServer):
    """A vLLM of one model that says how many messages it was sent; it can be launched anew without its draft."""

    def __init__(self, *, speculates: bool) -> None:
        super().__init__({"/v1/models": models("m"), "/v1/chat/completions": self._said, "/metrics": self._metrics})
        self.speculates = speculates

    @staticmethod
    def _said(request: Request) -> bytes:
        messages = request.json["messages"]
        assert isinstance(messages, list)
        return sse(chunk(str(len(messages)), ids=[1], finish="stop"), "[DONE]")

    def _metrics(self, _: Request) -> bytes:
        lines = ["vllm:num_requests_running{%s}", *(K2 if self.speculates else ())]
        return answer("200 OK", "".join(line % 'model_name="m"' + " 0\n" for line in lines), "text/plain")


def sessions_of(server: Server, local: FakeLocalServers) -> Sessions:
    sessions = Sessions(connection_from({"url": server.url}), remember_server=False)
    sessions.local = local
    return sessions


async def asked(session: ChatSession) -> str:
    async for _ in session.ask("hi"):
        pass
    return session.conversation.turns[-1].reply.text


async def test_the_other_half_of_a_pair_is_the_second_server_by_itself_and_the_reader_is_told() -> None:
    async with Server(speculates=True) as on, Server(speculates=False) as off:
        known = LaunchedServer("a-1", on.url, "a", baseline_url=off.url)
        sessions = sessions_of(on, FakeLocalServers(launched=known))
        session = await sessions.first()
        assert session.ways() == (Way.SERVER, Way.RELAUNCH)
        assert off.url in session.remarks[0]
        session.set_speculation(0)
        assert session.server.url == off.url
        await sessions.close()


async def test_another_half_that_cannot_be_asked_is_said_and_the_chat_opens() -> None:
    async with Server(speculates=True) as on, Server(speculates=True) as other:
        known = LaunchedServer("a-1", on.url, "a", baseline_url=other.url)
        sessions = sessions_of(on, FakeLocalServers(launched=known))
        session = await sessions.first()
        assert session.ways() == (Way.RELAUNCH,)
        assert "speculates too" in session.remarks[0]
        await sessions.close()


async def test_the_session_goes_on_with_what_its_server_has_become() -> None:
    async with Server(speculates=True) as server:
        local = FakeLocalServers(launched=LaunchedServer("a-1", server.url, "a"))
        sessions = sessions_of(server, local)
        session = await sessions.first()
        assert (session.speculation, await asked(session)) == (BY_ITSELF, "1")

        server.speculates, local.known = False, LaunchedServer("a-1", server.url, "a", tokens=0)
        await sessions.renew(session)
        assert session.speculation == Speculation(0, Way.RELAUNCH)
        assert (session.server.draft_length, await asked(session)) == (0, "3")
        assert session.conversation.turns[-1].reply.speculating is False
        await sessions.close()


async def test_a_server_that_was_launched_anew_before_is_known_as_such_and_one_of_others_is_not() -> None:
    class Silent(FakeLocalServers):
        async def launched(self, url: str) -> LaunchedServer | None:
            raise SpecchatError(f"nothing can be read of {url}")

    async with Server(speculates=False) as server:
        known = LaunchedServer("a-1", server.url, "a", tokens=0)
        for local, standing, ways in (
            (FakeLocalServers(launched=known), Speculation(0, Way.RELAUNCH), (Way.RELAUNCH,)),
            (FakeLocalServers(), BY_ITSELF, ()),
            (Silent(), BY_ITSELF, ()),
        ):
            sessions = sessions_of(server, local)
            session = await sessions.first()
            assert (session.speculation, session.ways()) == (standing, ways)
            await sessions.close()
