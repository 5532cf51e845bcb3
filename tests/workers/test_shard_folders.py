"""Files in a bucket are as those in a folder."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kgrag import Document, KnowledgeBase
from kgrag.errors import InputError, StorageFailed
from kgrag.settings import Settings
from kgrag.testing import HashEmbedder
from kgrag.workers.shard_folders import shard_folder
from tests.bucket_server import Bucket, served_bucket


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    with served_bucket() as served:
        monkeypatch.setenv("AWS_ENDPOINT_URL", served.address)
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
        monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        shard_folder.cache_clear()
        yield served
        shard_folder.cache_clear()


@pytest.mark.parametrize("address", ["s3://shards/some/where", "folder"])
def test_a_file_is_read_as_it_was_written(
    address: str, bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    files = shard_folder(address)
    files.make()
    files.put("a.parquet", b"first")
    files.put("a.parquet", b"second")
    files.put("large", bytes(11_000_000))
    assert files.read("a.parquet") == b"second"
    assert len(files.read("large")) == 11_000_000
    assert (files.has("a.parquet"), files.has("b")) == (True, False)
    with pytest.raises(FileNotFoundError):
        files.read("b")
    files.remove("a.parquet")
    files.remove("b")
    assert not files.has("a.parquet")
    files.clear()
    assert not files.has("large")


def test_a_bucket_that_cannot_be_reached_is_named(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="names no bucket"):
        shard_folder("s3://")
    files = shard_folder("s3://shards/x")
    monkeypatch.setattr(bucket, "refuses", True)
    for call in (lambda: files.put("a", b""), lambda: files.read("a"), lambda: files.has("a")):
        with pytest.raises(StorageFailed, match=r"s3://shards/x/a cannot be .*Check AWS_ENDPOINT_URL"):
            call()


def test_an_intake_and_a_build_leave_their_files_in_a_bucket(bucket: Bucket, tmp_path: Path) -> None:
    (tmp_path / "oats.txt").write_text("Oats are sown in May.", encoding="utf-8")
    with (
        KnowledgeBase(settings=Settings(), embedder=HashEmbedder()) as plain,
        KnowledgeBase(settings=Settings(), embedder=HashEmbedder()) as kb,
    ):
        assert kb.ingest(tmp_path, runner="local", shards="s3://shards/kb") == plain.ingest(tmp_path)
        written = [
            request for request in bucket.requests if request.startswith("POST /shards/kb/") and "uploadId" in request
        ]
        assert len(written) == 4  # what was read, what was made of it, and a list of each
        bucket.requests.clear()
        kb.add(Document("Rye is cut in July."))
        kb.build("sire_rag", runner="local", shards="s3://shards/kb")
        assert any(request.startswith("POST /shards/kb/") for request in bucket.requests)
    assert [key for key in bucket if not key.endswith("/")] == []
