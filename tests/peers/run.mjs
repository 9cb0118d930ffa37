// Every client against every server: directly, and through a gateway if there is one.
//
//   ./node.sh run.mjs [--python-port N] [--typescript-port N] [--via URL]
//
// --via      where the gateway is, as in http://127.0.0.1:8080/mcp. Its servers `python` and `typescript` must point to
//            the two ports. Each client then goes through `/mcp/python` with bare names, and through `/mcp`, where all
//            servers are one, with the prefix `python` (likewise for typescript).
//
// Prints what the clients print, each line with the way it went, and last how many checks of all runs passed, failed.
// A run that did not happen, or broke off, counts as a check that failed. Exit status 1 on any failure.

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

/** The checks of all runs. */
const count = { passed: 0, failed: 0 };

/** Counts a client's line if it is the result of a check; the way goes into it. Its own count says nothing new. */
function take(line, way) {
  const [, result, check] = /^(ok|not ok) - (.*)$/.exec(line) ?? [];
  if (result) {
    count[result === 'ok' ? 'passed' : 'failed'] += 1;
    console.log(`${result} - ${way}: ${check}`);
  } else if (!/^\d+ passed, \d+ failed$/.test(line)) {
    console.log(line);
  }
}

/** Runs a client to its end. One that says of no failure must have passed something and ended well. */
async function runClient(language, way, options) {
  const before = { ...count };
  const [program, file] = RUNNERS[language]('clients', 'client');
  const child = spawn(program, [file, ...options], { stdio: ['ignore', 'pipe', 'inherit'] });
  createInterface({ input: child.stdout }).on('line', (line) => take(line, way));
  const end = await new Promise((resolve) => {
    child.on('error', (error) => resolve(error.message));
    child.on('close', (code, signal) => resolve(code ?? signal));
  });
  const known = count.failed > before.failed || (end === 0 && count.passed > before.passed);
  if (!known) take(`not ok - the client ended by itself, all its checks run (${end})`, way);
}

/** The ways to one server, each with the client's options. */
function ways(server, url) {
  const all = [[`${server} directly`, ['--url', url]]];
  if (given.via) {
    const own = `${given.via}/${server}`;
    all.push([`${server} through the gateway`, ['--url', own]]);
    all.push([`${server} through the gateway with its prefix`, ['--url', given.via, '--prefix', server]]);
  }
  return all;
}

/** Runs every client every way to one server. */
async function runClients(server, url) {
  for (const [way, options] of ways(server, url)) {
    for (const client of Object.keys(RUNNERS)) {
      await runClient(client, `${client} client, ${way}`, [...options, '--server', server]);
    }
  }
}

async function main() {
  const servers = {};
  try {
    for (const name of Object.keys(RUNNERS)) servers[name] = await startServer(name);
    for (const [name, { url }] of Object.entries(servers)) await runClients(name, url);
  } catch (error) {
    take(`not ok - every run happened: ${error.message}`, 'all');
  } finally {
    for (const { stop } of Object.values(servers)) stop();
  }
  console.log(`${count.passed} passed, ${count.failed} failed`);
  return count.failed === 0 ? 0 : 1;
}

process.exitCode = await main();
