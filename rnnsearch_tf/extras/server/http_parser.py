"""Waitress' parser of requests, for heads in which Python itself refuses something: the client gets
400, the log nothing.
"""

from __future__ import annotations

import waitress.parser


class Parser(waitress.parser.HTTPRequestParser):
    """Takes a ValueError (a number of 5,000 digits, half an IPv6 address) for what it is: a head
    that cannot be read.
    """

    def parse_header(self, header_plus):
        try:
            super().parse_header(header_plus)
        except ValueError:
            raise waitress.parser.ParsingError("Bad request line or header") from None
