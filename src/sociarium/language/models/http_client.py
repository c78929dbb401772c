"""How the SDK's requests are sent: by aiohttp, whose parser is in C, and with nothing around it."""

import asyncio
import ssl
from functools import cache
from typing import Any
from urllib.request import getproxies, proxy_bypass

import aiohttp
import httpx2

KEPT = 4.0  # seconds that an idle connection is kept; servers close theirs after five, or later
MOST_BODY = 1 << 22  # bytes of an answer: an embedding of 16,384 numbers is the longest we need
PAUSED = 0.25  # seconds without a call after which connections may have been closed unnoticed

_url = cache(httpx2.URL)  # there are few addresses, and parsing one costs as much as sending


class AiohttpClient(httpx2.AsyncClient):
    """Sends what the SDK builds; it follows no redirects, keeps no cookies and streams nothing."""

    def __init__(self, timeout: httpx2.Timeout) -> None:
        super().__init__(transport=httpx2.AsyncBaseTransport(), trust_env=False)
        self._patience = aiohttp.ClientTimeout(total=timeout.read, sock_connect=timeout.connect)
        self._session: aiohttp.ClientSession | None = None
        self._last = 0.0  # when something was sent or received

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
        request = httpx2.Request(method, _url(str(url)), headers=headers, content=content)
        request.headers["Accept-Encoding"] = "identity"
        return request

    async def send(self, request: httpx2.Request, **more: Any) -> httpx2.Response:
        """The whole response, up to `MOST_BODY`; raises what the SDK expects of its client."""
        if self._session is None:  # any number of connections: how many calls there are is limited
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(
                    limit=0, keepalive_timeout=KEPT, ssl=_certificates()
                ),
                timeout=self._patience,
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
            )
        now = asyncio.get_running_loop().time
        if now() - self._last > PAUSED:  # as after compiling: hear first who has hung up
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        self._last = now()
        try:
            async with self._session.request(
                request.method,
                str(request.url),
                data=request.content,
                headers=request.headers.multi_items(),
                proxy=_proxy(request.url),
                allow_redirects=False,
            ) as response:
                if response.headers.get("Content-Encoding", "identity").lower() != "identity":
                    raise httpx2.DecodingError("the answer is compressed", request=request)
                body = bytearray()
                async for chunk in response.content.iter_any():
                    body += chunk
                    if len(body) > MOST_BODY:
                        why = f"the answer is longer than {MOST_BODY} bytes"
                        raise httpx2.DecodingError(why, request=request)
                self._last = now()
                return httpx2.Response(
                    response.status,
                    headers=response.raw_headers,
                    content=bytes(body),
                    request=request,
                )
        except TimeoutError as error:
            raise httpx2.ReadTimeout(str(error), request=request) from error
        except aiohttp.ClientConnectorError as error:
            raise httpx2.ConnectError(str(error), request=request) from error
        except (aiohttp.ClientError, OSError) as error:
            raise httpx2.ReadError(str(error), request=request) from error

    async def aclose(self) -> None:
        """Closes its connections."""
        if self._session is not None:
            await self._session.close()
        await super().aclose()


@cache
def _certificates() -> ssl.SSLContext:
    """Whom we trust; read once, since that takes a tenth of a second."""
    return httpx2.create_ssl_context()


@cache
def _proxy(url: httpx2.URL) -> str | None:
    """The proxy that the environment names for an address; aiohttp speaks to HTTP proxies only."""
    named = getproxies()
    proxy = named.get(url.scheme) or named.get("all")
    if not proxy or proxy_bypass(url.host):
        return None
    if not proxy.startswith(("http://", "https://")):
        scheme = proxy.partition("://")[0]
        raise httpx2.ProxyError(f"the environment names a {scheme} proxy; give an http:// one")
    return proxy
