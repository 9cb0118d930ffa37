// A stateless MCP server on the TypeScript SDK. It tells its callers which server they reached and which headers it saw,
// so that a test can prove what travelled. The Python server beside it offers the same.

import { setTimeout as sleep } from 'node:timers/promises';
import { localhostHostValidation, localhostOriginValidation, toNodeHandler } from '@modelcontextprotocol/node';
import {
  acceptedContent,
  createMcpHandler,
  createRequestStateCodec,
  fromJsonSchema,
  inputRequired,
  McpServer,
} from '@modelcontextprotocol/server';
import { listen, readArguments } from './listen.mjs';

const { port, name } = readArguments('typescript');
const state = createRequestStateCodec({ key: `a key for tests only, the same in every process: ${'x'.repeat(16)}` });

/** How many calls of `slow` their callers left before the end. */
let abandoned = 0;

const LOOKUP_INPUT = {
  type: 'object',
  properties: {
    region: { type: 'string', description: 'where to look', 'x-mcp-header': 'Region' },
    limit: { type: 'integer', description: 'how many rows', default: 10, 'x-mcp-header': 'Limit' },
  },
  required: ['region'],
};

function answer(value) {
  return { content: [{ type: 'text', text: JSON.stringify(value) }], structuredContent: value };
}

/** The `Mcp-*` headers of the request, by lower-case name. */
function mirroredHeaders(ctx) {
  return Object.fromEntries([...ctx.http.req.headers].filter(([header]) => header.startsWith('mcp-')));
}

function lookup(args, ctx) {
  return answer({
    server: name,
    region: args.region,
    limit: args.limit ?? 10,
    headers: mirroredHeaders(ctx),
    abandoned,
  });
}

async function slow(_args, ctx) {
  const progressToken = ctx.mcpReq._meta?.progressToken;
  for (let progress = 1; progressToken !== undefined && progress <= 3; progress += 1) {
    await ctx.mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress, total: 3 } });
    await sleep(200);
    if (ctx.mcpReq.signal.aborted) {
      abandoned += 1;
      throw new Error('nobody waits for this call any more');
    }
  }
  return answer({ server: name, steps: 3 });
}

async function ask(_args, ctx) {
  const given = acceptedContent(ctx.mcpReq.inputResponses, 'who');
  const asked = ctx.mcpReq.requestState();
  if (typeof given?.name === 'string' && asked?.question === 'who') {
    return answer({ server: name, hello: given.name });
  }
  return inputRequired({
    inputRequests: {
      who: inputRequired.elicit({
        message: 'Who is asking?',
        requestedSchema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
      }),
    },
    requestState: await state.mint({ question: 'who' }),
  });
}

function build() {
  const server = new McpServer({ name, version: '1.0.0' }, { requestState: { verify: state.verify } });
  server.registerTool(
    'lookup',
    { description: 'Looks up rows in a region.', inputSchema: fromJsonSchema(LOOKUP_INPUT) },
    lookup,
  );
  server.registerTool(
    'slow',
    { description: 'Reports progress three times.', inputSchema: fromJsonSchema({ type: 'object' }) },
    slow,
  );
  server.registerTool(
    'ask',
    { description: 'Asks who is calling.', inputSchema: fromJsonSchema({ type: 'object' }) },
    ask,
  );
  server.registerResource('note', 'test://note', { description: 'A note.', mimeType: 'text/plain' }, (uri) => ({
    contents: [{ uri: uri.href, mimeType: 'text/plain', text: `a note from ${name}` }],
  }));
  const greetInput = fromJsonSchema({ type: 'object', properties: { who: { type: 'string' } }, required: ['who'] });
  server.registerPrompt('greet', { description: 'Greets somebody.', argsSchema: greetInput }, ({ who }) => ({
    messages: [{ role: 'user', content: { type: 'text', text: `Greet ${who} from ${name}.` } }],
  }));
  return server;
}

const hostAllowed = localhostHostValidation();
const originAllowed = localhostOriginValidation();
const serve = toNodeHandler(
  createMcpHandler(build, { legacy: 'reject', onerror: (error) => console.error(error.message) }),
);

listen(port, (request, response) => {
  if (hostAllowed(request, response) && originAllowed(request, response)) serve(request, response);
});
