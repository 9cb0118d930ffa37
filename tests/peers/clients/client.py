"""The Python SDK's client, driven through everything the gateway must carry.

--prefix       the server's prefix in merged lists: `p` stands for names like `p__lookup`, URIs like `p+test://note`
--server       the name the server must give in its answers
"""

from __future__ import annotations

import argparse
import base64
import json
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
import httpx2
from checks import Checks, same
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp_types import ElicitResult

VERSION = "2026-07-28"
TIME_LIMIT_SECONDS = 60
NOTE = "test://note"  # the server's own URI of its resource


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", required=True)
    parser.add_argument("--prefix", default="")
    parser.add_argument("--server")
    return parser.parse_args()


@dataclass
class Connection:
    client: Client
    methods: list[str] = field(default_factory=list)
    """The methods sent, in order."""


@asynccontextmanager
async def connect(url: str) -> AsyncIterator[Connection]:
    methods: list[str] = []

    async def record(request: httpx2.Request) -> None:
        if request.method == "POST":
            methods.append(json.loads(request.content)["method"])

    async def answer(_context: Any, _params: Any) -> ElicitResult:
        return ElicitResult(action="accept", content={"name": "Ada"})

    async with httpx2.AsyncClient(timeout=20, event_hooks={"request": [record]}) as http:
        async with Client(streamable_http_client(url, http_client=http), elicitation_callback=answer) as client:
            yield Connection(client, methods)


@dataclass
class Peer:
    """One run: the connection that everything goes over, and what was asked for on the command line."""

    given: argparse.Namespace
    checks: Checks
    connection: Connection

    def name(self, bare: str) -> str:
        """A tool's or prompt's name as the client sees it."""
        return f"{self.given.prefix}__{bare}" if self.given.prefix else bare

    def uri(self, bare: str) -> str:
        return f"{self.given.prefix}+{bare}" if self.given.prefix else bare

    async def lists(self) -> None:
        """The list of tools also teaches the SDK which arguments to mirror into headers: nothing else tells it."""
        client = self.connection.client
        async with self.checks.check("tools/list has ask, lookup, slow"):
            names = [tool.name for tool in (await client.list_tools()).tools]
            same_items(names, self.name, ["ask", "lookup", "slow"], "tools")
        async with self.checks.check("resources/list has test://note"):
            uris = [str(resource.uri) for resource in (await client.list_resources()).resources]
            same_items(uris, self.uri, [NOTE], "resources")
        async with self.checks.check("prompts/list has greet"):
            names = [prompt.name for prompt in (await client.list_prompts()).prompts]
            same_items(names, self.name, ["greet"], "prompts")

    async def call(self, tool: str, arguments: dict[str, Any], **options: Any) -> dict[str, Any]:
        result = await self.connection.client.call_tool(self.name(tool), arguments, **options)
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
            prompt = await client.get_prompt(self.name("greet"), {"who": "Grace"})
            start = f"Greet Grace from {self.given.server}." if self.given.server else "Greet Grace from "
            text = prompt.messages[0].content.text
            same(text.startswith(start), True, f"{text!r} begins with {start!r}")
        async with self.checks.check("an unknown tool is refused in an answer: -32602, or a result that is an error"):
            try:
                result = await client.call_tool(self.name("nothing"), {})
                same(result.is_error, True, "is_error")
            except MCPError as error:
                same(error.code, -32602, "code")

    async def resource(self) -> None:
        async with self.checks.check("resources/read"):
            read = await self.connection.client.read_resource(self.uri(NOTE))
            same(str(read.contents[0].uri), self.uri(NOTE), "uri")
            text, start = read.contents[0].text, f"a note from {self.given.server or ''}"
            same(text.startswith(start), True, f"{text!r} begins with {start!r}")

    async def era(self) -> None:
        async with self.checks.check(f"speaks {VERSION}, never initialize"):
            same(self.connection.client.protocol_version, VERSION, "version")
            same("initialize" in self.connection.methods, False, f"initialize is among {self.connection.methods}")


def same_items(listed: list[str], seen_as: Callable[[str], str], expected: list[str], what: str) -> None:
    """Exactly this server's items must be listed; a merged list also has other servers', under other prefixes."""
    own = [item for item in listed if item.startswith(seen_as(""))]
    same(sorted(own), [seen_as(item) for item in expected], f"{what} among {listed}")


async def run(given: argparse.Namespace, checks: Checks) -> None:
    async with connect(given.url) as connection:
        peer = Peer(given, checks, connection)
        await peer.lists()
        await peer.lookup()
        await peer.streams()
        await peer.ask()
        await peer.others()
        await peer.resource()
        await peer.era()


async def main() -> int:
    checks = Checks()
    async with checks.check("connected, and every check ran"):
        with anyio.fail_after(TIME_LIMIT_SECONDS):
            await run(read_arguments(), checks)
    return checks.finish()


if __name__ == "__main__":
    sys.exit(anyio.run(main))
