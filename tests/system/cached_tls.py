"""Certificates for tests of TLS, made by the program openssl, and connections that trust them."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import socket
import ssl
import subprocess
from dataclasses import dataclass
from pathlib import Path

from cached_server import LAST_RESORT


@dataclass(frozen=True)
class Certificates:
    """Two authorities; of the first, two certificates for the server, in turn, and one for a client."""

    folder: Path

    def __getattr__(self, name: str) -> str:
        """`ca_crt` is the file of the certificate `ca`, `ca_key` of its key."""
        path = self.folder / name.replace("_", ".")
        if name.startswith("_") or not path.exists():
            raise AttributeError(name)
        return str(path)


def make_certificates(folder: Path) -> Certificates:
    def openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)

    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    for name in ("ca", "other"):
        openssl("req", "-x509", *key, "-keyout", f"{name}.key", "-out", f"{name}.crt", "-days", "2",
                "-subj", f"/CN={name}")  # fmt: skip
    (folder / "names").write_text("subjectAltName=IP:127.0.0.1,DNS:localhost\n")
    for name, authority in (("first", "ca"), ("second", "ca"), ("client", "ca"), ("stranger", "other")):
        openssl("req", *key, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}")
        openssl("x509", "-req", "-in", f"{name}.csr", "-CA", f"{authority}.crt", "-CAkey", f"{authority}.key",
                "-CAcreateserial", "-days", "2", "-extfile", "names", "-out", f"{name}.crt")  # fmt: skip
    (folder / "both.pem").write_text((folder / "first.crt").read_text() + (folder / "first.key").read_text())
    openssl("pkey", "-in", "first.key", "-outform", "DER", "-out", "first.der")
    openssl("pkey", "-in", "first.key", "-aes256", "-passout", "pass:secret", "-out", "locked.key")
    return Certificates(folder)


def client_context(certificates: Certificates, own: str = "", version: ssl.TLSVersion | None = None) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=certificates.ca_crt)
    if own:
        context.load_cert_chain(getattr(certificates, f"{own}_crt"), getattr(certificates, f"{own}_key"))
    if version:
        context.minimum_version = context.maximum_version = version
    return context


def connect(port: int, context: ssl.SSLContext, session: ssl.SSLSession | None = None) -> ssl.SSLSocket:
    """An end without close_notify is an error of this socket."""
    plain = socket.create_connection(("127.0.0.1", port), timeout=LAST_RESORT)
    return context.wrap_socket(plain, server_hostname="127.0.0.1", suppress_ragged_eofs=False, session=session)
