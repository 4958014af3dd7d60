import contextlib
import socket
import threading
from collections.abc import Callable, Generator, Iterable

COMMIT = b"\x00\x02\xb0\x12\x00\x00"
"""Bolt message to look for: a chunk with two bytes, a structure without fields, the signature of COMMIT,
and the end."""
PIECE = 65536

Choice = Callable[[int], bool]


class BoltProxy:
    """Proxy that drops the responses of chosen commits.

    The server has completed such a commit, and the client loses its connection.

    Attributes:
        uri: Address for clients.
        commits: Number of commits, including dropped ones.
        cuts: Number of dropped commits.
    """

    def __init__(self, host: str, port: int) -> None:
        self._server = (host, port)
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._choose: Choice = lambda _: False
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self.uri = f"bolt://127.0.0.1:{self._listening.getsockname()[1]}"
        self.commits = self.cuts = 0

    def cut(self, which: Iterable[int] | Choice) -> None:
        numbers = which if callable(which) else frozenset(which).__contains__
        with self._lock:
            start = self.commits
            self._choose = lambda number: numbers(number - start)

    def run(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
                server = socket.create_connection(self._server)
            except OSError:
                return
            line = _Line(self, client, server)
            self._open |= {client, server}
            self._begin(line.forward)
            self._begin(line.back)

    def close(self) -> None:
        for each in (self._listening, *self._open):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        for thread in self._threads:
            thread.join()

    def shall_cut(self) -> bool:
        with self._lock:
            self.commits += 1
            chosen = self._choose(self.commits)
            self.cuts += chosen
            return chosen

    def _begin(self, pump: Callable[[], None]) -> None:
        self._threads.append(threading.Thread(target=pump, daemon=True))
        self._threads[-1].start()


class _Line:
    def __init__(self, proxy: BoltProxy, client: socket.socket, server: socket.socket) -> None:
        self._proxy = proxy
        self._client = client
        self._server = server
        self._doomed = threading.Event()

    def forward(self) -> None:
        """Forward data from the client. If a commit is received in parts, they are joined."""
        tail = b""
        while piece := _receive(self._client):
            seen = tail + piece
            if COMMIT in seen and self._proxy.shall_cut():
                self._doomed.set()
            tail = b"" if COMMIT in seen else seen[-len(COMMIT) + 1 :]
            if not _send(self._server, piece):
                break
        self._hang_up()

    def back(self) -> None:
        """Forward data from the server. If this is the response to a chosen commit, drop it."""
        while piece := _receive(self._server):
            if self._doomed.is_set() or not _send(self._client, piece):
                break
        self._hang_up()

    def _hang_up(self) -> None:
        for each in (self._client, self._server):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)


def _receive(connection: socket.socket) -> bytes:
    try:
        return connection.recv(PIECE)
    except OSError:
        return b""


def _send(connection: socket.socket, piece: bytes) -> bool:
    try:
        connection.sendall(piece)
    except OSError:
        return False
    return True


@contextlib.contextmanager
def bolt_proxy(uri: str) -> Generator[BoltProxy]:
    """Give a proxy before the Neo4j at a `bolt://` address."""
    host, _, port = uri.removeprefix("bolt://").partition(":")
    proxy = BoltProxy(host, int(port))
    accepting = threading.Thread(target=proxy.run, daemon=True)
    accepting.start()
    try:
        yield proxy
    finally:
        proxy.close()
        accepting.join()
