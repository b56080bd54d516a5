from __future__ import annotations

import pytest

from pipelines.process.tasks import meanwhile
from serving.errors import BadInput
from tests.turns import until


@pytest.mark.parametrize(("error", "trace"), [(KeyError("odd"), True), (BadInput("odd"), False)])
async def test_work_that_ends_by_an_error_is_told_before_the_block_ends(
    error: Exception, trace: bool, caplog: pytest.LogCaptureFixture
) -> None:
    async def work() -> None:
        raise error

    with pytest.raises(type(error)):
        async with meanwhile(work()):
            await until(lambda: caplog.records)
    (record,) = caplog.records
    assert "a part of this process has ended" in record.getMessage()
    assert bool(record.exc_info) is trace


async def test_work_that_goes_on_ends_with_the_block_in_silence(caplog: pytest.LogCaptureFixture) -> None:
    async def work() -> None:
        await until(lambda: False)

    async with meanwhile(work()):
        pass
    assert not caplog.records
