// The TypeScript SDK's client, driven through everything the gateway must carry.
//
//   node clients/client.mjs --url URL [--prefix p__] [--list-url URL] [--resource-url URL] [--resource-uri URI]
//                           [--prior] [--server NAME]
//
// --prefix       goes before the names of tools and prompts in calls
// --list-url     where lists are read (bare names); default: --url
// --resource-url, --resource-uri   where the resource is read, and how it is called there; default: --url, test://note
// --prior        take the answer to server/discover from --list-url and send none to --url
// --server       the name the server must give in its answers

import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Checks, same } from './checks.mjs';

const VERSION = '2026-07-28';
const TIME_LIMIT_MS = 60_000;
const text = { type: 'string' };
const { values: given } = parseArgs({
  options: {
    url: text,
    prefix: { ...text, default: '' },
    'list-url': text,
    'resource-url': text,
    'resource-uri': { ...text, default: 'test://note' },
    prior: { type: 'boolean' },
    server: text,
  },
});
if (!given.url) throw new Error('--url URL is missing');
const listUrl = given['list-url'] ?? given.url;
const resourceUrl = given['resource-url'] ?? given.url;

/** A connected client; `methods` gathers what it sends, in order. */
async function connect(url, prior) {
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
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { fetch: recordingFetch }), prior && { prior });
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

async function checkLists(checks, lists) {
  const tools = await checks.check('tools/list has ask, lookup, slow', async () => {
    const { tools: found } = await lists.client.listTools();
    same(found.map((tool) => tool.name).sort(), ['ask', 'lookup', 'slow'], 'tools');
    return found;
  });
  await checks.check('resources/list has test://note', async () => {
    const { resources } = await lists.client.listResources();
    same(
      resources.map((resource) => resource.uri),
      ['test://note'],
      'resources',
    );
  });
  await checks.check('prompts/list has greet', async () => {
    const { prompts } = await lists.client.listPrompts();
    same(
      prompts.map((prompt) => prompt.name),
      ['greet'],
      'prompts',
    );
  });
  return tools ?? [];
}

/** The SDK mirrors arguments into headers by a tool's schema; a tool not listed at this URL needs it handed over. */
function lookupDefinition(tools) {
  if (given.prefix === '' && listUrl === given.url) return undefined;
  const tool = tools.find(({ name }) => name === 'lookup');
  return tool && { ...tool, name: `${given.prefix}lookup` };
}

/** Calls `lookup` and returns what the server saw. */
async function lookup({ client }, tools, args) {
  const name = `${given.prefix}lookup`;
  const result = await client.callTool({ name, arguments: args }, { toolDefinition: lookupDefinition(tools) });
  return fromServer(structured(result));
}

async function checkLookup(checks, main, tools) {
  await checks.check('lookup: the server saw the arguments and the headers that mirror them', async () => {
    const seen = await lookup(main, tools, { region: 'us-west1', limit: 42 });
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
    const seen = await lookup(main, tools, { region: ' Zürich ' });
    same([seen.region, seen.limit, seen.headers['mcp-param-limit']], [' Zürich ', 10, undefined], 'arguments');
    const value = seen.headers['mcp-param-region'];
    const [, base64] = /^=\?base64\?(.*)\?=$/.exec(value) ?? [];
    same(base64 && Buffer.from(base64, 'base64').toString(), ' Zürich ', `Mcp-Param-Region, sent as ${value}`);
  });
}

async function checkProgress(checks, { client }) {
  await checks.check('slow: three notifications of progress, then the result', async () => {
    const seen = [];
    const onprogress = ({ progress, total }) => seen.push(`${progress}/${total}`);
    const result = await client.callTool({ name: `${given.prefix}slow`, arguments: {} }, { onprogress });
    same(seen.join(' '), '1/3 2/3 3/3', 'progress');
    same(fromServer(structured(result)).steps, 3, 'steps');
  });
}

async function checkLeaving(checks, main, tools) {
  await checks.check('slow: leaving in the middle ends the call, on the server too', async () => {
    const abandoned = async () => (await lookup(main, tools, { region: 'any' })).abandoned;
    const before = await abandoned();
    const leave = new AbortController();
    const options = { signal: leave.signal, onprogress: () => leave.abort() };
    const call = main.client.callTool({ name: `${given.prefix}slow`, arguments: {} }, options);
    const outcome = await call.then(
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

async function checkAsk(checks, { client, methods }) {
  await checks.check('ask: the server asks back, the client answers, the call completes', async () => {
    const before = methods.length;
    const result = await client.callTool({ name: `${given.prefix}ask`, arguments: {} });
    same(fromServer(structured(result)).hello, 'Ada', 'hello');
    same(methods.slice(before), ['tools/call', 'tools/call'], 'requests sent');
  });
}

async function checkOthers(checks, { client }) {
  await checks.check('prompts/get greet', async () => {
    const { messages } = await client.getPrompt({ name: `${given.prefix}greet`, arguments: { who: 'Grace' } });
    const start = given.server ? `Greet Grace from ${given.server}.` : 'Greet Grace from ';
    same(messages[0].content.text.startsWith(start), true, `"${messages[0].content.text}" begins with "${start}"`);
  });
  await checks.check('an unknown tool is refused in an answer: -32602, or a result that is an error', async () => {
    const call = client.callTool({ name: `${given.prefix}nothing`, arguments: {} });
    const outcome = await call.then(
      (result) => (result.isError ? -32602 : 'a result'),
      (error) => error.code,
    );
    same(outcome, -32602, 'outcome');
  });
}

async function checkResource(checks, url, main) {
  const { client } = url === given.url ? main : await connect(url);
  await checks.check('resources/read', async () => {
    const { contents } = await client.readResource({ uri: given['resource-uri'] });
    same(contents[0].uri, given['resource-uri'], 'uri');
    same(contents[0].text.startsWith('a note from '), true, `"${contents[0].text}" is the note`);
  });
}

async function main() {
  const checks = new Checks();
  setTimeout(() => {
    console.log(`not ok - in time: not done after ${TIME_LIMIT_MS} ms`);
    process.exit(1);
  }, TIME_LIMIT_MS).unref();
  const lists = await checks.check('connect where the lists are', () => connect(listUrl));
  const prior = given.prior && { kind: 'modern', discover: lists?.client.getDiscoverResult() };
  const main = listUrl === given.url ? lists : await checks.check('connect', () => connect(given.url, prior));
  if (lists && main) {
    const tools = await checkLists(checks, lists);
    await checkLookup(checks, main, tools);
    await checkProgress(checks, main);
    await checkLeaving(checks, main, tools);
    await checkAsk(checks, main);
    await checkOthers(checks, main);
    await checkResource(checks, resourceUrl, main);
    await checks.check(`speaks ${VERSION}, never initialize`, () => {
      same(main.client.getNegotiatedProtocolVersion(), VERSION, 'version');
      same(main.methods.includes('initialize'), false, `initialize among ${main.methods}`);
    });
  }
  process.exit(checks.finish());
}

await main();
