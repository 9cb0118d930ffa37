// The TypeScript SDK's client, driven through everything the gateway must carry.
//
//   node clients/client.mjs --url URL [--prefix PREFIX] [--server NAME]
//
// --prefix       the server's prefix in merged lists: `p` stands for names like `p__lookup`, URIs like `p+test://note`
// --server       the name the server must give in its answers

import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Checks, same } from './checks.mjs';

const VERSION = '2026-07-28';
const TIME_LIMIT_MS = 60_000;
const text = { type: 'string' };
const { values: given } = parseArgs({
  options: { url: text, prefix: { ...text, default: '' }, server: text },
});
if (!given.url) throw new Error('--url URL is missing');

/** The server's own URI of its resource. */
const NOTE = 'test://note';
/** What a client sees before a tool's or prompt's name, and before a URI. */
const namePrefix = given.prefix && `${given.prefix}__`;
const uriPrefix = given.prefix && `${given.prefix}+`;

/** A connected client; `methods` gathers what it sends, in order. */
async function connect(url) {
  const methods = [];
  const recordingFetch = (target, init) => {
    if (init?.body) methods.push(JSON.parse(init.body).method);
    return fetch(target, init);
  };
  const client = new Client(
    { name: 'peers-typescript', version: '1.0.0' },
    { capabilities: { elicitation: {} }, versionNegotiation: { mode: { pin: VERSION } } },
  );
  client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { name: 'Ada' } }));
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { fetch: recordingFetch }));
  return { client, methods };
}

function structured(result) {
  if (result.isError) throw new Error(`the tool failed: ${result.content[0]?.text}`);
  return result.structuredContent ?? JSON.parse(result.content[0].text);
}

function fromServer(value) {
  if (given.server) same(value.server, given.server, 'the server that answered');
  return value;
}

/** Exactly this server's items must be listed; a merged list also has other servers', under other prefixes. */
function sameItems(listed, prefix, expected, what) {
  const own = listed.filter((item) => item.startsWith(prefix));
  same(own.sort(), expected.map((item) => `${prefix}${item}`), `${what} among ${listed}`);
}

/** The list of tools also teaches the SDK which arguments to mirror into headers: nothing else tells it. */
async function checkLists(checks, { client }) {
  await checks.check('tools/list has ask, lookup, slow', async () => {
    const { tools } = await client.listTools();
    const names = tools.map((tool) => tool.name);
    sameItems(names, namePrefix, ['ask', 'lookup', 'slow'], 'tools');
  });
  await checks.check('resources/list has test://note', async () => {
    const { resources } = await client.listResources();
    const uris = resources.map((resource) => resource.uri);
    sameItems(uris, uriPrefix, [NOTE], 'resources');
  });
  await checks.check('prompts/list has greet', async () => {
    const { prompts } = await client.listPrompts();
    const names = prompts.map((prompt) => prompt.name);
    sameItems(names, namePrefix, ['greet'], 'prompts');
  });
}

/** Calls a tool by its bare name and returns what it answered. */
async function call({ client }, tool, args, options) {
  const result = await client.callTool({ name: `${namePrefix}${tool}`, arguments: args }, options);
  return fromServer(structured(result));
}

async function checkLookup(checks, main) {
  await checks.check('lookup: the server saw the arguments and the headers that mirror them', async () => {
    const seen = await call(main, 'lookup', { region: 'us-west1', limit: 42 });
    same([seen.region, seen.limit], ['us-west1', 42], 'arguments');
    same(
      seen.headers,
      {
        'mcp-protocol-version': VERSION,
        'mcp-method': 'tools/call',
        'mcp-name': 'lookup',
        'mcp-param-region': 'us-west1',
        'mcp-param-limit': '42',
      },
      'headers',
    );
  });
  await checks.check('lookup: a value that needs the sentinel, an argument left out', async () => {
    const seen = await call(main, 'lookup', { region: ' Zürich ' });
    same([seen.region, seen.limit, seen.headers['mcp-param-limit']], [' Zürich ', 10, undefined], 'arguments');
    const value = seen.headers['mcp-param-region'];
    const [, base64] = /^=\?base64\?(.*)\?=$/.exec(value) ?? [];
    same(base64 && Buffer.from(base64, 'base64').toString(), ' Zürich ', `Mcp-Param-Region, sent as ${value}`);
  });
}

async function checkProgress(checks, main) {
  await checks.check('slow: three notifications of progress, then the result', async () => {
    const seen = [];
    const onprogress = ({ progress, total }) => seen.push(`${progress}/${total}`);
    const { steps } = await call(main, 'slow', {}, { onprogress });
    same(seen.join(' '), '1/3 2/3 3/3', 'progress');
    same(steps, 3, 'steps');
  });
}

async function checkLeaving(checks, main) {
  await checks.check('slow: leaving in the middle ends the call, on the server too', async () => {
    const abandoned = async () => (await call(main, 'lookup', { region: 'any' })).abandoned;
    const before = await abandoned();
    const leave = new AbortController();
    const options = { signal: leave.signal, onprogress: () => leave.abort() };
    const outcome = await call(main, 'slow', {}, options).then(
      () => 'a result',
      () => 'aborted',
    );
    same(outcome, 'aborted', 'outcome');
    const patience = Date.now() + 3000;
    while ((await abandoned()) === before) {
      if (Date.now() > patience) throw new Error('the server never saw that its caller left');
      await sleep(50);
    }
  });
}

async function checkAsk(checks, main) {
  await checks.check('ask: the server asks back, the client answers, the call completes', async () => {
    const before = main.methods.length;
    const { hello } = await call(main, 'ask', {});
    same(hello, 'Ada', 'hello');
    same(main.methods.slice(before), ['tools/call', 'tools/call'], 'requests sent');
  });
}

async function checkOthers(checks, { client }) {
  await checks.check('prompts/get greet', async () => {
    const { messages } = await client.getPrompt({ name: `${namePrefix}greet`, arguments: { who: 'Grace' } });
    const start = given.server ? `Greet Grace from ${given.server}.` : 'Greet Grace from ';
    same(messages[0].content.text.startsWith(start), true, `"${messages[0].content.text}" begins with "${start}"`);
  });
  await checks.check('an unknown tool is refused in an answer: -32602, or a result that is an error', async () => {
    const refused = client.callTool({ name: `${namePrefix}nothing`, arguments: {} });
    const outcome = await refused.then(
      (result) => (result.isError ? -32602 : 'a result'),
      (error) => error.code,
    );
    same(outcome, -32602, 'outcome');
  });
}

async function checkResource(checks, { client }) {
  await checks.check('resources/read', async () => {
    const { contents } = await client.readResource({ uri: `${uriPrefix}${NOTE}` });
    same(contents[0].uri, `${uriPrefix}${NOTE}`, 'uri');
    const start = `a note from ${given.server ?? ''}`;
    same(contents[0].text.startsWith(start), true, `"${contents[0].text}" begins with "${start}"`);
  });
}

async function main() {
  const checks = new Checks();
  setTimeout(() => {
    console.log(`not ok - in time: not done after ${TIME_LIMIT_MS} ms`);
    process.exit(1);
  }, TIME_LIMIT_MS).unref();
  const main = await checks.check('connect', () => connect(given.url));
  if (main) {
    await checkLists(checks, main);
    await checkLookup(checks, main);
    await checkProgress(checks, main);
    await checkLeaving(checks, main);
    await checkAsk(checks, main);
    await checkOthers(checks, main);
    await checkResource(checks, main);
    await checks.check(`speaks ${VERSION}, never initialize`, () => {
      same(main.client.getNegotiatedProtocolVersion(), VERSION, 'version');
      same(main.methods.includes('initialize'), false, `initialize among ${main.methods}`);
    });
  }
  process.exit(checks.finish());
}

await main();
