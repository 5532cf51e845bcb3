"""An S3-compatible store on loopback, with what shards need of the protocol: put, get, head, list and delete.

No signature is checked. ``requests`` are the method and path of every request.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

__all__ = ["Bucket", "served_bucket"]


class Bucket(dict[str, bytes]):
    """Objects by key, of all buckets; ``requests`` are those that came, ``address`` is where; all are refused if it ``refuses``."""

    def __init__(self) -> None:
        super().__init__()
        self.requests: list[str] = []
        self.address = ""
        self.refuses = False


@contextmanager
def served_bucket() -> Iterator[Bucket]:
    """Serve an empty store."""
    bucket = Bucket()

    class Handler(_Handler):
        objects, parts = bucket, {}

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    bucket.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield bucket
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    objects: Bucket
    parts: dict[tuple[str, int], bytes]

    def _key(self) -> str:
        self.objects.requests.append(f"{self.command} {self.path}")
        return unquote(urlsplit(self.path).path).lstrip("/")

    def _reply(self, status: int, content: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(content)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def parse_request(self) -> bool:
        """Refuse every request, where that is wanted."""
        is_read = super().parse_request()
        if is_read and self.objects.refuses:
            self.close_connection = True
            self._reply(403, b"<Error><Code>AccessDenied</Code></Error>")
            return False
        return is_read

    def _body(self) -> bytes:
        """Return what came, of known length or in chunks, and in those of the signature where it has such."""
        if self.headers.get("Transfer-Encoding") == "chunked":
            body = b"".join(iter(self._chunk, b""))
        else:
            body = self.rfile.read(int(self.headers["Content-Length"]))
        if "aws-chunked" not in self.headers.get("Content-Encoding", ""):
            return body
        content = b""
        while body:
            size, _, body = body.partition(b"\r\n")
            if not (length := int(size.partition(b";")[0], 16)):
                break
            content, body = content + body[:length], body[length + 2 :]
        return content

    def _chunk(self) -> bytes:
        chunk = self.rfile.read(int(self.rfile.readline(), 16))
        self.rfile.readline()
        return chunk

    def do_PUT(self) -> None:
        key, query = self._key(), parse_qs(urlsplit(self.path).query)
        if number := query.get("partNumber"):
            self.parts[key, int(number[0])] = self._body()
        else:
            self.objects[key] = self._body()
        self._reply(200, ETag='"1"')

    def do_DELETE(self) -> None:
        self.objects.pop(self._key(), None)
        self._reply(204)

    def do_HEAD(self) -> None:
        self._send(self._key())

    def do_GET(self) -> None:
        key = self._key()
        if "list-type" in urlsplit(self.path).query:
            self._list(key.strip("/"), parse_qs(urlsplit(self.path).query))
        else:
            self._send(key)

    def _send(self, key: str) -> None:
        if key not in self.objects:
            self._reply(404, b"<Error><Code>NoSuchKey</Code></Error>")
            return
        content, status = self.objects[key], 200
        if asked := self.headers.get("Range"):
            first, _, last = asked.removeprefix("bytes=").partition("-")
            content, status = content[int(first) : int(last) + 1 if last else None], 206
        self._reply(status, content, ETag='"1"', Last_Modified="Sat, 28 Nov 2026 00:00:00 GMT")

    def _list(self, bucket: str, query: dict[str, list[str]]) -> None:
        prefix = query.get("prefix", [""])[0]
        keys = [key.removeprefix(f"{bucket}/") for key in sorted(self.objects) if key.startswith(f"{bucket}/{prefix}")]
        rows = "".join(
            f"<Contents><Key>{escape(key)}</Key><Size>{len(self.objects[f'{bucket}/{key}'])}</Size>"
            "<LastModified>2026-11-28T00:00:00.000Z</LastModified></Contents>"
            for key in keys
        )
        content = f"<ListBucketResult><KeyCount>{len(keys)}</KeyCount><IsTruncated>false</IsTruncated>{rows}"
        self._reply(200, f"{content}</ListBucketResult>".encode(), Content_Type="application/xml")

    def do_POST(self) -> None:
        key, query = self._key(), urlsplit(self.path).query
        body = self._body().decode()
        if query.startswith("uploads"):
            reply = "<InitiateMultipartUploadResult><UploadId>1</UploadId></InitiateMultipartUploadResult>"
        elif "uploadId" in query:
            numbers = sorted(number for name, number in self.parts if name == key)
            self.objects[key] = b"".join(self.parts.pop((key, number)) for number in numbers)
            reply = "<CompleteMultipartUploadResult></CompleteMultipartUploadResult>"
        else:
            for part in body.split("<Key>")[1:]:
                self.objects.pop(f"{key.strip('/')}/{part.partition('</Key>')[0]}", None)
            reply = "<DeleteResult></DeleteResult>"
        self._reply(200, reply.encode(), Content_Type="application/xml")

    def log_message(self, *_: object) -> None:
        """Log nothing."""
