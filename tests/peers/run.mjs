// Every client against every server: directly, and through a gateway if there is one.
//
//   ./node.sh run.mjs [--python-port N] [--typescript-port N] [--via URL] [--prior]
//
// --via      where the gateway is, as in http://127.0.0.1:8080/mcp. Its servers `python` and `typescript` must point to the
//            two ports. Each client then goes through `/mcp/python` with bare names, and through `/mcp` with `python__`; lists
//            and the resource are read at `/mcp/python` both times (likewise for typescript).
// --prior    send no server/discover to the merged endpoint
//
// Prints what the clients print, each line with the way it went, and a count. Exit status 1 on any failure.

import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const text = { type: 'string' };
const { values: given } = parseArgs({
  options: {
    'python-port': { ...text, default: '0' },
    'typescript-port': { ...text, default: '0' },
    via: text,
    prior: { type: 'boolean', default: false },
  },
});

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const RUNNERS = {
  python: (folder, name) => [here('.venv/bin/python'), here(`${folder}/${name}.py`)],
  typescript: (folder, name) => [process.execPath, here(`${folder}/${name}.mjs`)],
};

/** Starts a server and resolves with its URL once it listens. */
function startServer(language) {
  const [program, file] = RUNNERS[language]('servers', 'server');
  const child = spawn(program, [file, '--port', given[`${language}-port`], '--name', language], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', () => reject(new Error(`the ${language} server ended; is its port taken, did setup.sh run?`)));
    createInterface({ input: child.stdout }).once('line', (line) => {
      resolve({ url: line.replace('listening on ', ''), stop: () => child.kill() });
    });
  });
}

/** Runs a client to its end; resolves with whether all its checks passed. */
function runClient(language, way, options) {
  const [program, file] = RUNNERS[language]('clients', 'client');
  const child = spawn(program, [file, ...options], { stdio: ['ignore', 'pipe', 'inherit'] });
  createInterface({ input: child.stdout }).on('line', (line) => {
    console.log(line.replace(/^(ok|not ok) - /, (result) => `${result}${way}: `));
  });
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => resolve(code === 0));
  });
}

/** The ways to one server, each with the client's options. */
function ways(server, url) {
  const all = [[`${server} directly`, ['--url', url]]];
  if (given.via) {
    const own = `${given.via}/${server}`;
    const merged = ['--url', given.via, '--prefix', `${server}__`, '--list-url', own, '--resource-url', own];
    all.push([`${server} through the gateway`, ['--url', own]]);
    all.push([`${server} through the gateway with its prefix`, given.prior ? [...merged, '--prior'] : merged]);
  }
  return all;
}

/** Runs every client every way to one server; counts the runs that passed and failed. */
async function runClients(server, url, count) {
  for (const [way, options] of ways(server, url)) {
    for (const client of Object.keys(RUNNERS)) {
      const well = await runClient(client, `${client} client, ${way}`, [...options, '--server', server]);
      count[well ? 'passed' : 'failed'] += 1;
    }
  }
}

async function main() {
  const count = { passed: 0, failed: 0 };
  const servers = {};
  try {
    for (const name of Object.keys(RUNNERS)) servers[name] = await startServer(name);
    for (const [name, { url }] of Object.entries(servers)) await runClients(name, url, count);
  } finally {
    for (const { stop } of Object.values(servers)) stop();
  }
  console.log(`${count.passed} runs passed, ${count.failed} failed`);
  return count.failed === 0 ? 0 : 1;
}

process.exitCode = await main();
