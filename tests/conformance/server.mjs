// The server that the conformance suite runs against, on the TypeScript SDK. Stateless, revision 2026-07-28 alone.
//
//   node server.mjs [--port N] [--no-validate] [--sse]
//
// --no-validate   do not look at the Mcp-* headers: the server a gateway has to protect
// --sse           answer everything as an event stream, as some SDKs' servers do

import { parseArgs } from 'node:util';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { ANNOTATED, registerContent } from './content.mjs';
import { registerRounds, verifyState } from './rounds.mjs';
import { serve } from './serve.mjs';
import { registerStreams } from './streams.mjs';
import { headersFromBody } from './unvalidated.mjs';

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '0' },
    'no-validate': { type: 'boolean', default: false },
    sse: { type: 'boolean' },
  },
});

const handler = createMcpHandler(build, {
  legacy: 'reject',
  responseMode: values.sse ? 'sse' : 'auto',
  onerror: (error) => console.error(error.message),
});

function build() {
  const server = new McpServer(
    { name: 'conformance', version: '1.0.0' },
    { capabilities: { logging: {}, completions: {} }, requestState: { verify: verifyState } },
  );
  registerContent(server);
  registerRounds(server);
  registerStreams(server, () => handler.notify);
  return server;
}

serve(Number(values.port), handler, values['no-validate'] ? headersFromBody(ANNOTATED) : undefined);
