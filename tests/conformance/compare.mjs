// Compares a run through the gateway with a direct one, scenario by scenario and check by check.
//
//   node compare.mjs direct.json via.json [--must-pass a,b] [--out comparison.json]
//
// Exit status 1 if anything is worse through the gateway, or a scenario that must pass does not.

import { readFile, writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';

const RANK = { FAILURE: 0, WARNING: 1, SKIPPED: 2, INFO: 2, SUCCESS: 3 };

/** `{ ok, problems: [text], scenarios: { name: { verdict, checks: { key: { verdict, direct, via, message? } } } } }` */
export function compare(direct, via, mustPass = []) {
  const scenarios = {};
  for (const name of union(direct, via)) scenarios[name] = compareScenario(direct[name], via[name]);
  const problems = [];
  for (const [name, { checks }] of Object.entries(scenarios)) {
    for (const [key, { verdict, direct: before, via: after, message }] of Object.entries(checks)) {
      if (verdict === 'worse')
        problems.push(
          `${name}: ${key}: ${before} directly, ${after} through the gateway${message ? `: ${message}` : ''}`,
        );
    }
  }
  for (const name of mustPass) {
    if (!via[name]?.passed) problems.push(`${name} must pass through the gateway: ${whyNot(via[name])}`);
  }
  return { ok: problems.length === 0, problems, scenarios };
}

function compareScenario(direct, via) {
  const checks = {};
  for (const key of union(direct?.checks ?? {}, via?.checks ?? {})) {
    const [before, after] = [direct?.checks[key], via?.checks[key]];
    checks[key] = {
      verdict: verdict(before, after),
      direct: before?.status ?? 'not run',
      via: after?.status ?? 'not run',
    };
    if (after?.message) checks[key].message = after.message;
  }
  const verdicts = new Set(Object.values(checks).map((check) => check.verdict));
  const whole = ['worse', 'better'].find((candidate) => verdicts.has(candidate)) ?? 'same';
  return { verdict: whole, checks };
}

/** A check that only one of the runs reached counts by its status: a failure is worse than none, a success better. */
function verdict(before, after) {
  const difference = rank(after) - rank(before);
  if (difference === 0) return 'same';
  return difference > 0 ? 'better' : 'worse';
}

function rank(check) {
  if (check === undefined) return 2;
  if (!(check.status in RANK)) throw new Error(`the suite wrote an unknown status: ${check.status}`);
  return RANK[check.status];
}

function whyNot(result) {
  if (!result) return 'it did not run';
  const failed = Object.entries(result.checks).filter(([, { status }]) => RANK[status] < 2);
  return (
    failed.map(([key, { status, message }]) => `${key} ${status}${message ? `: ${message}` : ''}`).join('; ') ||
    'it has no checks'
  );
}

function union(one, other) {
  return [...new Set([...Object.keys(one), ...Object.keys(other)])];
}

/** Prints what differs and what is wrong, and returns the exit status. */
export function report({ ok, problems, scenarios }) {
  const count = { same: 0, better: 0, worse: 0 };
  for (const [name, { verdict: whole, checks }] of Object.entries(scenarios)) {
    count[whole] += 1;
    console.log(`${whole} - ${name}`);
    for (const [key, check] of Object.entries(checks)) {
      if (check.verdict !== 'same') console.log(`    ${check.verdict}: ${key}: ${check.direct} -> ${check.via}`);
    }
  }
  for (const problem of problems) console.log(`not ok - ${problem}`);
  console.log(`${count.same} the same, ${count.better} better, ${count.worse} worse; ${problems.length} problems`);
  return ok ? 0 : 1;
}

async function main() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { 'must-pass': { type: 'string', default: '' }, out: { type: 'string' } },
  });
  const [direct, via] = await Promise.all(
    positionals.slice(0, 2).map(async (file) => JSON.parse(await readFile(file, 'utf8'))),
  );
  const result = compare(direct, via, values['must-pass'].split(',').filter(Boolean));
  if (values.out) await writeFile(values.out, `${JSON.stringify(result, null, 2)}\n`);
  process.exitCode = report(result);
}

if (import.meta.main ?? process.argv[1] === new URL(import.meta.url).pathname) await main();
