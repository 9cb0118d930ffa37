"""A stateless MCP server on the Python SDK.

It tells its callers which server they reached and which headers it saw, so that a test can prove what travelled.
The TypeScript server beside it offers the same.
"""

from __future__ import annotations

import argparse
import asyncio
import socket
from typing import Annotated, Any

import uvicorn
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.request_state import RequestStateSecurity
from mcp_types import ElicitRequest, ElicitRequestFormParams, ElicitResult, InputRequiredResult
from pydantic import Field

KEY = b"a key for tests only, the same in every process"


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0 takes any free port")
    parser.add_argument("--name", default="python", help="what the server calls itself in its answers")
    return parser.parse_args()


def mirrored_headers(ctx: Context) -> dict[str, str]:
    """The `Mcp-*` headers of the request, by lower-case name."""
    return {name: value for name, value in (ctx.headers or {}).items() if name.startswith("mcp-")}


def build(name: str) -> MCPServer:
    security = RequestStateSecurity(keys=[KEY])
    abandoned = 0  # calls of `slow` that their callers left before the end
    server = MCPServer(name=name, version="1.0.0", request_state_security=security, log_level="WARNING")

    @server.tool(description="Looks up rows in a region.")
    def lookup(
        ctx: Context,
        region: Annotated[str, Field(description="where to look", json_schema_extra={"x-mcp-header": "Region"})],
        limit: Annotated[int, Field(description="how many rows", json_schema_extra={"x-mcp-header": "Limit"})] = 10,
    ) -> dict[str, Any]:
        seen = {"region": region, "limit": limit, "headers": mirrored_headers(ctx)}
        return {"server": name, **seen, "abandoned": abandoned}

    @server.tool(description="Reports progress three times.")
    async def slow(ctx: Context) -> dict[str, Any]:
        nonlocal abandoned
        try:
            for step in range(1, 4):
                await ctx.report_progress(step, total=3)
                await asyncio.sleep(0.2)
        except asyncio.CancelledError:
            abandoned += 1
            raise
        return {"server": name, "steps": 3}

    @server.tool(description="Asks who is calling.", structured_output=False)
    async def ask(ctx: Context) -> str | InputRequiredResult:
        given = (ctx.input_responses or {}).get("who")
        if isinstance(given, ElicitResult) and given.content and ctx.request_state == "asked who":
            return f'{{"server": "{name}", "hello": "{given.content["name"]}"}}'
        schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
        question = ElicitRequest(params=ElicitRequestFormParams(message="Who is asking?", requested_schema=schema))
        return InputRequiredResult(input_requests={"who": question}, request_state="asked who")

    @server.resource("test://note", description="A note.", mime_type="text/plain")
    def note() -> str:
        return f"a note from {name}"

    @server.prompt(description="Greets somebody.")
    def greet(who: str) -> str:
        return f"Greet {who} from {name}."

    return server


def main() -> None:
    arguments = read_arguments()
    app = build(arguments.name).streamable_http_app(stateless_http=True)
    listener = socket.create_server(("127.0.0.1", arguments.port))
    print(f"listening on http://127.0.0.1:{listener.getsockname()[1]}/mcp", flush=True)
    config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1)
    uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main()
