"""TCP lines that a test can cut and mend: to a served site, or to Redis."""

import contextlib
import socket
import threading


class Line:
    """A TCP line to the server that can be cut and mended; what is open when it is cut is lost."""

    def __init__(self, port: int) -> None:
        self._target = ("127.0.0.1", port)
        self._whole = True
        self._open: set[socket.socket] = set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def is_whole(self) -> bool:
        """Whether it carries anything."""
        return self._whole

    def cut(self) -> None:
        self._whole = False
        for end in list(self._open):
            _shut(end)

    def mend(self) -> None:
        self._whole = True

    def close(self) -> None:
        self.cut()
        _shut(self._listener)
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                near, _address = self._listener.accept()
            except OSError:
                return
            if not self._whole:
                near.close()
                continue
            far = socket.create_connection(self._target)
            self._open |= {near, far}
            for one, other in ((near, far), (far, near)):
                threading.Thread(target=self._pump, args=(one, other), daemon=True).start()

    def _pump(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65_536):
                target.sendall(data)
        _shut(target)
        source.close()
        self._open.discard(source)


def _shut(end: socket.socket) -> None:
    with contextlib.suppress(OSError):  # the other side was faster
        end.shutdown(socket.SHUT_RDWR)
