import asyncio
import hashlib
import threading

import pytest

from kgrag import KnowledgeBase
from kgrag.errors import ServiceUnavailable
from kgrag.server.worker_threads import WorkerThreads


def test_more_than_may_wait_is_refused_and_the_rest_is_done(kb: KnowledgeBase) -> None:
    let = threading.Event()
    workers = WorkerThreads(kb, threads=1, waiting=1)

    async def asked() -> list[object]:
        work = [asyncio.create_task(workers.run(lambda: let.wait(30))) for _ in range(3)]
        refused = (await asyncio.wait(work, return_when=asyncio.FIRST_COMPLETED))[0]
        assert all(isinstance(task.exception(), ServiceUnavailable) for task in refused)
        let.set()
        return await asyncio.gather(*work, return_exceptions=True)

    done = asyncio.run(asked())
    workers.close()
    assert done[:2] == [True, True]
    assert isinstance(done[2], ServiceUnavailable)


def test_a_place_is_free_again_when_the_work_ends_though_nobody_waits_for_it(kb: KnowledgeBase) -> None:
    let = threading.Event()
    workers = WorkerThreads(kb, threads=1, waiting=0)

    async def asked() -> str:
        left = asyncio.create_task(workers.run(lambda: let.wait(30)))
        await asyncio.sleep(0)
        left.cancel()
        with pytest.raises(ServiceUnavailable):
            await workers.run(lambda: "too early")
        let.set()
        while True:
            try:
                return await workers.run(lambda: "in time")
            except ServiceUnavailable:
                await asyncio.sleep(0)

    assert asyncio.run(asked()) == "in time"
    workers.close()


def test_what_is_done_alone_never_overlaps(kb: KnowledgeBase) -> None:
    workers = WorkerThreads(kb, threads=4, waiting=20)
    inside, most = 0, 0

    def work() -> None:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        hashlib.sha256(bytes(1 << 20))  # lets other threads run meanwhile
        inside -= 1

    async def asked() -> None:
        await asyncio.gather(*(workers.run(lambda: workers.alone(work)) for _ in range(12)))

    asyncio.run(asked())
    workers.close()
    assert most == 1
