"""TLS as --ssl_config_file asks for it: looked at before anything listens, since gRPC says of a bad
key that a port is taken.
"""

from __future__ import annotations

import pathlib
import ssl
import tempfile

from rnnsearch_tf.errors import UserError


def check(config, where):
    """Refuse keys and certificates that no handshake could use.

    Args:
        config: SSLConfig.
        where: the file, for errors.

    Raises:
        UserError: a text is no PEM, the key is not the certificate's, or clients are to be verified
            by no authority.
    """
    if config.client_verify and not config.custom_ca:
        raise UserError(
            f"{where}: client_verify: expected custom_ca, the certificates of those who sign the"
            " clients', got none; add it"
        )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory() as folder:  # only its owner can look into it
        key = pathlib.Path(folder, "key")
        certificate = pathlib.Path(folder, "certificate")
        key.write_text(config.server_key, encoding="utf-8")
        certificate.write_text(config.server_cert, encoding="utf-8")
        try:
            context.load_cert_chain(certificate, key, password=lambda: "")
        except (ssl.SSLError, ValueError) as error:
            raise UserError(
                f"{where}: expected in server_key a private key in PEM without a password and in"
                f" server_cert its certificate, got: {_reason(error)}; write the texts of both"
                " files again"
            ) from None
    if not config.custom_ca:
        return
    try:
        context.load_verify_locations(cadata=config.custom_ca)
    except (ssl.SSLError, ValueError, TypeError) as error:  # TypeError: not ASCII
        raise UserError(
            f"{where}: custom_ca: expected certificates in PEM, got: {_reason(error)}; write them"
            " again"
        ) from None


def _reason(error) -> str:
    return (getattr(error, "reason", None) or str(error)).replace("_", " ").lower()
