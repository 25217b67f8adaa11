from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.replaced import check_arguments


@pytest.fixture(autouse=True)
def _replaced_functions_can_be_called(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    yield
    check_arguments(monkeypatch)
