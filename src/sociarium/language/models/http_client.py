"""How the SDK's requests are sent: by aiohttp, whose parser is in C, and with nothing around it."""

import ssl
from functools import cache
from typing import Any
from urllib.request import getproxies

import aiohttp
import httpx2

_url = cache(httpx2.URL)  # there are few addresses, and parsing one costs as much as sending


class AiohttpClient(httpx2.AsyncClient):
    """Sends what the SDK builds; it follows no redirects, keeps no cookies and streams nothing."""

    def __init__(self, timeout: httpx2.Timeout) -> None:
        super().__init__(timeout=timeout, verify=_certificates())
        self._patience = aiohttp.ClientTimeout(
            total=None, sock_connect=timeout.connect, sock_read=timeout.read
        )
        self._session: aiohttp.ClientSession | None = None

    def build_request(
        self,
        method: str,
        url: Any,
        *,
        content: Any = None,
        headers: Any = None,
        timeout: Any = None,
        **more: Any,
    ) -> httpx2.Request:
        """What is to be sent, of which the SDK knows everything already."""
        return httpx2.Request(method, _url(str(url)), headers=headers, content=content)

    async def send(self, request: httpx2.Request, **more: Any) -> httpx2.Response:
        """The whole response; raises what the SDK takes for time that ran out, or a lost server."""
        if self._session is None:  # any number of connections: how many calls there are is limited
            connector = aiohttp.TCPConnector(limit=0, ssl=_certificates())
            self._session = aiohttp.ClientSession(
                connector=connector,
                timeout=self._patience,
                auto_decompress=False,
                trust_env=bool(getproxies()),  # which it would look for before each call
            )
        try:
            async with self._session.request(
                request.method,
                str(request.url),
                data=request.content,
                headers=request.headers.multi_items(),
                allow_redirects=False,
            ) as response:
                return httpx2.Response(
                    response.status,
                    headers=response.raw_headers,
                    content=await response.read(),
                    request=request,
                )
        except TimeoutError as error:
            raise httpx2.ReadTimeout(str(error), request=request) from error
        except (aiohttp.ClientError, OSError) as error:
            raise httpx2.ConnectError(str(error), request=request) from error

    async def aclose(self) -> None:
        """Closes its connections."""
        if self._session is not None:
            await self._session.close()
        await super().aclose()


@cache
def _certificates() -> ssl.SSLContext:
    """Whom we trust; read once, since that takes a tenth of a second."""
    return httpx2.create_ssl_context()
