// Runs the conformance suite directly and, if asked, once more through a gateway, and compares.
//
//   ./run.sh [--port N | --direct URL] [--via URL] [--no-validate] [--sse] [--must-pass a,b] [--out DIR]
//
// --port         where to start the server (default: any free port; the gateway's upstream must name it)
// --direct       a server that already runs, instead of one started here
// --via          the gateway's URL; its upstream is the same server
// --no-validate, --sse   passed to the server; without validation the header scenarios must fail directly
// --must-pass    scenarios that have to pass through the gateway whatever they do directly
// --out          where direct.json, via.json and comparison.json go (default: results)

import { spawn } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { compare, report } from './compare.mjs';
import { runSuite, SCENARIOS } from './suite.mjs';

const HEADER_SCENARIOS = ['http-header-validation', 'http-custom-header-server-validation'];
// Where every answer is an event stream, its status is sent before the tool can refuse: this SDK answers 200.
const SSE_KNOWN = ['server-stateless: sep-2575-missing-capability-http-400 MissingCapabilityHttp400'];
const text = { type: 'string' };
const flag = { type: 'boolean', default: false };
const { values: given } = parseArgs({
  options: {
    port: { ...text, default: '0' },
    direct: text,
    via: text,
    'no-validate': flag,
    sse: flag,
    'must-pass': { ...text, default: '' },
    out: { ...text, default: fileURLToPath(new URL('results', import.meta.url)) },
  },
});

async function startServer() {
  const flags = ['no-validate', 'sse'].filter((name) => given[name]).map((name) => `--${name}`);
  const file = fileURLToPath(new URL('server.mjs', import.meta.url));
  const child = spawn(process.execPath, [file, '--port', given.port, ...flags], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  for await (const line of createInterface({ input: child.stdout })) {
    const url = /^listening on (\S+)$/.exec(line)?.[1];
    if (url) return { url, stop: () => child.kill() };
  }
  throw new Error(`the server did not start; is port ${given.port} taken?`);
}

async function save(name, value) {
  await mkdir(given.out, { recursive: true });
  await writeFile(join(given.out, name), `${JSON.stringify(value, null, 2)}\n`);
}

/** What is wrong with the direct run itself. */
function directProblems(results) {
  const problems = [];
  const count = Object.keys(results).length;
  if (count !== SCENARIOS) problems.push(`${count} scenarios ran, there are ${SCENARIOS}`);
  if (given['no-validate']) {
    const passing = HEADER_SCENARIOS.filter((name) => results[name]?.passed);
    if (passing.length > 0)
      problems.push(`${passing.join(', ')} passed on a server that does not validate: this run would prove nothing`);
    return problems;
  }
  const known = given.sse ? SSE_KNOWN : [];
  for (const [name, { checks }] of Object.entries(results)) {
    for (const [key, { status, message }] of Object.entries(checks)) {
      const bad = status === 'FAILURE' || status === 'WARNING';
      if (bad && !known.includes(`${name}: ${key}`)) problems.push(`${name}: ${key}: ${status}: ${message}`);
    }
  }
  return problems;
}

function printDirect(results, problems) {
  for (const [name, { passed }] of Object.entries(results)) console.log(`${passed ? 'pass' : 'fail'} - ${name}`);
  for (const problem of problems) console.log(`not ok - directly: ${problem}`);
  const passed = Object.values(results).filter((result) => result.passed).length;
  console.log(`directly: ${passed} of ${Object.keys(results).length} scenarios pass`);
}

async function main() {
  const server = given.direct ? { url: given.direct, stop: () => {} } : await startServer();
  try {
    const direct = await runSuite(server.url);
    await save('direct.json', direct);
    const problems = directProblems(direct);
    printDirect(direct, problems);
    if (!given.via) return problems.length === 0 ? 0 : 1;
    const via = await runSuite(given.via);
    await save('via.json', via);
    const comparison = compare(direct, via, given['must-pass'].split(',').filter(Boolean));
    await save('comparison.json', comparison);
    const worse = report(comparison) || (problems.length === 0 ? 0 : 1);
    const scenarios = Object.keys(via).length;
    console.log(`${worse ? scenarios - 1 : scenarios} passed, ${worse ? 1 : 0} failed`);
    return worse;
  } finally {
    server.stop();
  }
}

process.exitCode = await main();
