"""Checks of the files of TLS: gRPC only logs that no handshake can use them."""

from __future__ import annotations

import ssl

from rnnsearch_tf.errors import UserError
from rnnsearch_tf.files import AnyPath


def check_certificate(certificate: AnyPath, key: AnyPath, where: str) -> None:
    """Raise UserError, which names `where`, unless the files are a certificate and its key."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(certificate, key, password=lambda: "")
    except (OSError, ValueError) as error:  # of ssl, too
        raise UserError(
            f"{where}: expected a certificate and its private key without a password, in PEM, got:"
            f" {_reason(error)}; check both files"
        ) from None


def check_authority(authority: AnyPath, where: str) -> None:
    """Raise UserError, which names `where`, unless the file has certificates."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_verify_locations(authority)
    except (OSError, ValueError) as error:
        raise UserError(
            f"{where}: expected certificates in PEM, got: {_reason(error)}; check the file"
        ) from None


def _reason(error: Exception) -> str:
    reason = getattr(error, "reason", None) or getattr(error, "strerror", None) or str(error)
    return reason.replace("_", " ").lower()
