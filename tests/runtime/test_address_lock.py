from __future__ import annotations

import pytest

from arbiter.cli.serve_processes import held_address
from arbiter.errors import OperatorError
from arbiter.runtime.address_lock import alone_at
from arbiter.runtime.loopback import free_port
from arbiter.testing.served import served


def test_one_arbiter_has_an_address_and_then_the_next_one() -> None:
    address = f"127.0.0.1:{free_port()}"
    with alone_at(address, "listen"):
        other = address.replace("127.0.0.1", "127.0.0.2")
        with (
            alone_at(other, "web"),
            pytest.raises(OperatorError) as caught,
            alone_at(f"localhost:{address.partition(':')[2]}", "listen"),
        ):
            pass
    assert "(listen): another arbiter on this machine has this address, or starts there: stop it" in str(caught.value)
    with alone_at(address, "listen"):
        pass


@pytest.mark.parametrize("everywhere", ["0.0.0.0", "[::]"])
@pytest.mark.parametrize("here", ["127.0.0.1", "[::1]", "0.0.0.0"])
def test_an_address_of_all_interfaces_excludes_one_of_a_single_interface(everywhere: str, here: str) -> None:
    port = free_port()
    for first, second in [(f"{everywhere}:{port}", f"{here}:{port}"), (f"{here}:{port}", f"{everywhere}:{port}")]:
        with alone_at(first, "listen"):
            with alone_at(f"{here}:{free_port()}", "web"):  # another port
                pass
            with pytest.raises(OperatorError, match="another arbiter on this machine"), alone_at(second, "listen"):
                pass
        with alone_at(second, "listen"):  # the refused one has let go of it
            pass


@pytest.mark.parametrize("address", ["", "127.0.0.1:0", "here", "127.0.0.1:port", "127.0.0.1:99999999999999"])
def test_what_is_no_address_with_a_port_is_not_held(address: str) -> None:
    with alone_at(address, "listen"), alone_at(address, "listen"):
        pass


async def test_of_several_arbiters_that_start_at_one_address_at_once_one_gets_it() -> None:
    """None of them listens yet, so the sockets alone would let both have it."""
    address = f"127.0.0.1:{free_port()}"
    with held_address(address, "listen"):
        with pytest.raises(OperatorError, match="another arbiter on this machine"), held_address(address, "listen"):
            pass
        with pytest.raises(OperatorError, match="another arbiter on this machine"):
            async with served(listen=address):
                pass
    async with served(listen=address):
        with pytest.raises(OperatorError, match="can't listen"), held_address(address, "listen"):
            pass
