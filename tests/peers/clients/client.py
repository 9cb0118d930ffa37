"""The Python SDK's client, driven through everything the gateway must carry.

--prefix       goes before the names of tools and prompts in calls
--list-url     where lists are read (bare names); default: --url
--resource-url, --resource-uri   where the resource is read, and how it is called there; default: --url, test://note
--prior        take the answer to server/discover from --list-url and send none to --url
--server       the name the server must give in its answers
"""

from __future__ import annotations

import argparse
import base64
import json
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
import httpx2
from checks import Checks, same
from mcp import Client, MCPError
from mcp.client.caching import CacheConfig, CacheEntry, CacheKey, InMemoryResponseCacheStore
from mcp.client.streamable_http import streamable_http_client
from mcp_types import DiscoverResult, ElicitResult, ListToolsResult, Tool

VERSION = "2026-07-28"
TIME_LIMIT_SECONDS = 60
FAR_AWAY = 1e12  # seconds since the epoch: an entry that stays fresh


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", required=True)
    parser.add_argument("--prefix", default="")
    parser.add_argument("--list-url")
    parser.add_argument("--resource-url")
    parser.add_argument("--resource-uri", default="test://note")
    parser.add_argument("--prior", action="store_true")
    parser.add_argument("--server")
    given = parser.parse_args()
    given.list_url = given.list_url or given.url
    given.resource_url = given.resource_url or given.url
    return given


class KnownTools(InMemoryResponseCacheStore):
    """A response cache that already holds a list of tools.

    The SDK mirrors arguments into headers by a tool's schema, which it knows only from a list read at the same URL.
    A list from another URL reaches it through its public cache interface.
    """

    def __init__(self, tools: list[Tool]) -> None:
        super().__init__()
        result = ListToolsResult(tools=tools, ttl_ms=0, cache_scope="private", result_type="complete")
        self._known = CacheEntry(value=result, scope="private", expires_at=FAR_AWAY)

    async def get(self, key: CacheKey) -> CacheEntry | None:
        return self._known if key.method == "tools/list" else await super().get(key)


@dataclass
class Connection:
    client: Client
    methods: list[str] = field(default_factory=list)
    """The methods sent, in order."""


@asynccontextmanager
async def connect(
    url: str, *, known: list[Tool] | None = None, prior: DiscoverResult | None = None
) -> AsyncIterator[Connection]:
    methods: list[str] = []

    async def record(request: httpx2.Request) -> None:
        if request.method == "POST":
            methods.append(json.loads(request.content)["method"])

    async def answer(_context: Any, _params: Any) -> ElicitResult:
        return ElicitResult(action="accept", content={"name": "Ada"})

    async with httpx2.AsyncClient(timeout=20, event_hooks={"request": [record]}) as http:
        store = KnownTools(known) if known else None
        client = Client(
            streamable_http_client(url, http_client=http),
            mode=VERSION if prior else "auto",
            prior_discover=prior,
            elicitation_callback=answer,
            cache=CacheConfig(store=store, target_id=url, partition="peers"),
        )
        async with client:
            if known:
                await client.list_tools()  # served by KnownTools, nothing is sent
            yield Connection(client, methods)


@dataclass
class Peer:
    """One run: the connection that calls go over, and what was asked for on the command line."""

    given: argparse.Namespace
    checks: Checks
    connection: Connection

    async def call(self, tool: str, arguments: dict[str, Any], **options: Any) -> dict[str, Any]:
        result = await self.connection.client.call_tool(f"{self.given.prefix}{tool}", arguments, **options)
        same(result.is_error, False, f"is_error of {result.content}")
        value = result.structured_content or json.loads(result.content[0].text)
        if self.given.server:
            same(value["server"], self.given.server, "the server that answered")
        return value

    async def lookup(self) -> None:
        async with self.checks.check("lookup: the server saw the arguments and the headers that mirror them"):
            seen = await self.call("lookup", {"region": "us-west1", "limit": 42})
            same([seen["region"], seen["limit"]], ["us-west1", 42], "arguments")
            headers = {
                "mcp-protocol-version": VERSION,
                "mcp-method": "tools/call",
                "mcp-name": "lookup",
                "mcp-param-region": "us-west1",
                "mcp-param-limit": "42",
            }
            same(seen["headers"], headers, "headers")
        async with self.checks.check("lookup: a value that needs the sentinel, an argument left out"):
            seen = await self.call("lookup", {"region": " Zürich "})
            same([seen["region"], seen["limit"]], [" Zürich ", 10], "arguments")
            same("mcp-param-limit" in seen["headers"], False, "Mcp-Param-Limit is there")
            value = seen["headers"].get("mcp-param-region", "")
            literal = value.removeprefix("=?base64?").removesuffix("?=")
            same(base64.b64decode(literal).decode(), " Zürich ", f"Mcp-Param-Region, sent as {value}")

    async def streams(self) -> None:
        seen: list[tuple[float, float | None]] = []

        async def note(progress: float, total: float | None, _message: str | None) -> None:
            seen.append((progress, total))

        async with self.checks.check("slow: three notifications of progress, then the result"):
            value = await self.call("slow", {}, progress_callback=note)
            same(seen, [(1, 3), (2, 3), (3, 3)], "progress")
            same(value["steps"], 3, "steps")

        async with self.checks.check("slow: leaving in the middle ends the call, on the server too"):
            before = await self.abandoned()
            with anyio.CancelScope() as scope:

                async def leave(*_: Any) -> None:
                    scope.cancel()

                await self.call("slow", {}, progress_callback=leave)
            same(scope.cancelled_caught, True, "the call was cancelled")
            with anyio.move_on_after(3) as patience:
                while await self.abandoned() == before:
                    await anyio.sleep(0.05)
            same(patience.cancelled_caught, False, "the server never saw that its caller left")

    async def abandoned(self) -> int:
        """How many calls of `slow` the server saw its callers leave."""
        return (await self.call("lookup", {"region": "any"}))["abandoned"]

    async def ask(self) -> None:
        async with self.checks.check("ask: the server asks back, the client answers, the call completes"):
            before = len(self.connection.methods)
            value = await self.call("ask", {})
            same(value["hello"], "Ada", "hello")
            same(self.connection.methods[before:], ["tools/call", "tools/call"], "requests sent")

    async def others(self) -> None:
        client = self.connection.client
        async with self.checks.check("prompts/get greet"):
            prompt = await client.get_prompt(f"{self.given.prefix}greet", {"who": "Grace"})
            start = f"Greet Grace from {self.given.server}." if self.given.server else "Greet Grace from "
            text = prompt.messages[0].content.text
            same(text.startswith(start), True, f"{text!r} begins with {start!r}")
        async with self.checks.check("an unknown tool is refused in an answer: -32602, or a result that is an error"):
            try:
                result = await client.call_tool(f"{self.given.prefix}nothing", {})
                same(result.is_error, True, "is_error")
            except MCPError as error:
                same(error.code, -32602, "code")

    async def resource(self, connection: Connection) -> None:
        async with self.checks.check("resources/read"):
            read = await connection.client.read_resource(self.given.resource_uri)
            same(str(read.contents[0].uri), self.given.resource_uri, "uri")
            text = read.contents[0].text
            same(text.startswith("a note from "), True, f"{text!r} is the note")

    async def era(self) -> None:
        async with self.checks.check(f"speaks {VERSION}, never initialize"):
            same(self.connection.client.protocol_version, VERSION, "version")
            same("initialize" in self.connection.methods, False, f"initialize is among {self.connection.methods}")


async def check_lists(checks: Checks, client: Client) -> list[Tool]:
    tools: list[Tool] = []
    async with checks.check("tools/list has ask, lookup, slow"):
        tools = (await client.list_tools()).tools
        same(sorted(tool.name for tool in tools), ["ask", "lookup", "slow"], "tools")
    async with checks.check("resources/list has test://note"):
        listed = await client.list_resources()
        same([str(resource.uri) for resource in listed.resources], ["test://note"], "resources")
    async with checks.check("prompts/list has greet"):
        same([prompt.name for prompt in (await client.list_prompts()).prompts], ["greet"], "prompts")
    return tools


async def run(given: argparse.Namespace, checks: Checks) -> None:
    async with AsyncExitStack() as stack:
        lists = main = await stack.enter_async_context(connect(given.list_url))
        tools = await check_lists(checks, lists.client)
        if given.prefix or given.list_url != given.url:
            known = [tool.model_copy(update={"name": f"{given.prefix}{tool.name}"}) for tool in tools]
            prior = lists.client.session.discover_result if given.prior else None
            main = await stack.enter_async_context(connect(given.url, known=known, prior=prior))
        peer = Peer(given, checks, main)
        await peer.lookup()
        await peer.streams()
        await peer.ask()
        await peer.others()
        reader = main
        if given.resource_url != given.url:
            reader = await stack.enter_async_context(connect(given.resource_url))
        await peer.resource(reader)
        await peer.era()


async def main() -> int:
    checks = Checks()
    async with checks.check("connected, and every check ran"):
        with anyio.fail_after(TIME_LIMIT_SECONDS):
            await run(read_arguments(), checks)
    return checks.finish()


if __name__ == "__main__":
    sys.exit(anyio.run(main))
