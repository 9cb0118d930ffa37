// Runs the official suite against one URL and gathers what every check of every scenario said.

import { spawn } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const SUITE = fileURLToPath(new URL('node_modules/@modelcontextprotocol/conformance/dist/index.js', import.meta.url));
const SCENARIO_TIMEOUT_MS = 10_000;
const SUITE_TIMEOUT_MS = 240_000;

/** How many scenarios `--suite all --spec-version 2026-07-28` of the pinned version has. */
export const SCENARIOS = 40;

/**
 * Results by scenario and check: `{ scenario: { passed, checks: { key: { status, message? } } } }`, statuses as the suite
 * writes them. The key is the check's id and name; the suite repeats some, so their occurrences are counted.
 */
export async function runSuite(url) {
  const folder = await mkdtemp(join(tmpdir(), 'conformance-'));
  try {
    const output = await runProcess([
      SUITE,
      'server',
      '--suite',
      'all',
      '--spec-version',
      '2026-07-28',
      '--url',
      url,
      '--timeout',
      String(SCENARIO_TIMEOUT_MS),
      '--output-dir',
      folder,
    ]);
    const results = await readResults(folder);
    if (Object.keys(results).length === 0)
      throw new Error(`the suite left no results; it said: ${output.slice(-2000)}`);
    return results;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** What the process printed. Its exit status says only that some check failed, which the results say better. */
function runProcess(args) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { timeout: SUITE_TIMEOUT_MS, killSignal: 'SIGKILL' });
    let output = '';
    child.stdout.on('data', (data) => {
      output += data;
    });
    child.stderr.on('data', (data) => {
      output += data;
    });
    child.on('error', reject);
    child.on('close', (_code, signal) =>
      signal ? reject(new Error(`the suite was not done after ${SUITE_TIMEOUT_MS} ms`)) : resolve(output),
    );
  });
}

async function readResults(folder) {
  const results = {};
  for (const entry of (await readdir(folder)).sort()) {
    const scenario = /^server-(.*)-\d{4}-\d\d-\d\dT[\d-]+Z$/.exec(entry)?.[1];
    if (!scenario) throw new Error(`${entry} is no folder of a scenario`);
    results[scenario] = summarize(JSON.parse(await readFile(join(folder, entry, 'checks.json'), 'utf8')));
  }
  return results;
}

function summarize(list) {
  const checks = {};
  const seen = new Map();
  for (const { id, name, status, errorMessage } of list) {
    const count = (seen.get(`${id} ${name}`) ?? 0) + 1;
    seen.set(`${id} ${name}`, count);
    const key = count === 1 ? `${id} ${name}` : `${id} ${name} (${count})`;
    checks[key] = errorMessage === undefined ? { status } : { status, message: errorMessage };
  }
  const passed = list.length > 0 && list.every(({ status }) => status !== 'FAILURE' && status !== 'WARNING');
  return { passed, checks };
}
