"""The client for programs without an event loop: the same calls, each of which waits for its answer."""

from __future__ import annotations

import asyncio
import functools
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from arbiter_client.channel import Tls
from arbiter_client.client import Client
from arbiter_client.errors import ConnectionFailed

P = ParamSpec("P")
T = TypeVar("T")

_END = object()


def _answer(
    method: Callable[Concatenate[Client, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[BlockingClient, P], T]:
    @functools.wraps(method)
    def call(self: BlockingClient, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self.wait(method(self.client, *args, **kwargs))

    return call


def _each(
    method: Callable[Concatenate[Client, P], AsyncGenerator[T, None]],
) -> Callable[Concatenate[BlockingClient, P], Iterator[T]]:
    @functools.wraps(method)
    def call(self: BlockingClient, /, *args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
        stream = method(self.client, *args, **kwargs)

        async def following() -> Any:
            return await anext(stream, _END)

        try:
            while (item := self.wait(following())) is not _END:
                yield item
        finally:
            self.wait(stream.aclose())

    return call


class BlockingClient:
    """`Client`, for programs without an event loop; it takes the same arguments. It may be used by several threads.

    with BlockingClient("127.0.0.1:7400") as client:
        print(client.list_games())
    """

    def __init__(
        self,
        server: str | None = None,
        *,
        token: str | None = None,
        name: str = "",
        tls: Tls | None = None,
        timeout_s: float = 30.0,
        patience_s: float = 1.0,
    ) -> None:
        self.client = Client(server, token=token, name=name, tls=tls, timeout_s=timeout_s, patience_s=patience_s)
        self._loop = asyncio.new_event_loop()
        self._thread: threading.Thread | None = threading.Thread(
            target=self._loop.run_forever, name="arbiter-client", daemon=True
        )
        self._thread.start()

    @classmethod
    def around(cls, client: Client, loop: asyncio.AbstractEventLoop) -> BlockingClient:
        """Return a blocking client that uses a client in another thread's event loop. Closing it has no effect."""
        face = cls.__new__(cls)
        face.client = client
        face._loop = loop
        face._thread = None
        return face

    def wait(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Return the result of a coroutine of the client. Raises its error, and ConnectionFailed once closed."""
        if _running_loop() is self._loop:
            coroutine.close()
            raise RuntimeError("this would wait for itself: in an async method, await the calls of `client` instead")
        try:
            future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        except RuntimeError:  # the loop is closed
            coroutine.close()
            raise ConnectionFailed(f"this client of {self.client.server} is closed: make another one") from None
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def close(self) -> None:
        """Close the connection; calls under way end."""
        if self._thread is not None:
            self.wait(self.client.close())
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()
            self._thread = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    server_info = _answer(Client.server_info)
    list_games = _answer(Client.list_games)
    get_game = _answer(Client.get_game)
    legal_moves = _answer(Client.legal_moves)
    play_moves = _answer(Client.play_moves)

    create_match = _answer(Client.create_match)
    get_match = _answer(Client.get_match)
    list_matches = _answer(Client.list_matches)
    submit_move = _answer(Client.submit_move)
    offer_draw = _answer(Client.offer_draw)
    answer_draw = _answer(Client.answer_draw)
    claim_draw = _answer(Client.claim_draw)
    resign = _answer(Client.resign)
    abort_match = _answer(Client.abort_match)
    adjudicate_match = _answer(Client.adjudicate_match)
    transcript = _answer(Client.transcript)
    observe = _each(Client.observe)
    observe_all = _each(Client.observe_all)
    observe_tournament = _each(Client.observe_tournament)

    register_player = _answer(Client.register_player)
    create_invitation = _answer(Client.create_invitation)
    get_player = _answer(Client.get_player)
    myself = _answer(Client.myself)
    list_players = _answer(Client.list_players)
    update_profile = _answer(Client.update_profile)
    change_player = _answer(Client.change_player)
    delete_player = _answer(Client.delete_player)
    suspend_player = _answer(Client.suspend_player)
    grant_badge = _answer(Client.grant_badge)
    create_token = _answer(Client.create_token)
    list_tokens = _answer(Client.list_tokens)
    revoke_token = _answer(Client.revoke_token)
    create_challenge = _answer(Client.create_challenge)
    accept_challenge = _answer(Client.accept_challenge)
    decline_challenge = _answer(Client.decline_challenge)
    create_seek = _answer(Client.create_seek)
    list_challenges = _answer(Client.list_challenges)

    create_tournament = _answer(Client.create_tournament)
    enter_tournament = _answer(Client.enter_tournament)
    withdraw_from_tournament = _answer(Client.withdraw_from_tournament)
    change_entry = _answer(Client.change_entry)
    start_tournament = _answer(Client.start_tournament)
    go_on_from_report = _answer(Client.go_on_from_report)
    pause_tournament = _answer(Client.pause_tournament)
    resume_tournament = _answer(Client.resume_tournament)
    cancel_tournament = _answer(Client.cancel_tournament)
    rule_on_game = _answer(Client.rule_on_game)
    correct_tournament = _answer(Client.correct_tournament)
    get_tournament = _answer(Client.get_tournament)
    list_tournaments = _answer(Client.list_tournaments)
    get_standings = _answer(Client.get_standings)
    get_series = _answer(Client.get_series)
    export_tournament = _answer(Client.export_tournament)
    create_web_hook = _answer(Client.create_web_hook)
    list_web_hooks = _answer(Client.list_web_hooks)
    retry_web_hook = _answer(Client.retry_web_hook)
    delete_web_hook = _answer(Client.delete_web_hook)

    get_leaderboard = _answer(Client.get_leaderboard)
    get_rating = _answer(Client.get_rating)
    compare_players = _answer(Client.compare_players)
    rule_on_ratings = _answer(Client.rule_on_ratings)
    export_rating_rulings = _answer(Client.export_rating_rulings)


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
