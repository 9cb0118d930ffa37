// Checks that print one line each and a count at the end.

export class Checks {
  #passed = 0;
  #failed = 0;

  /** Runs `body`; it passes unless it throws. Returns what it returned, or `undefined`. */
  async check(name, body) {
    try {
      const value = await body();
      this.#passed += 1;
      console.log(`ok - ${name}`);
      return value;
    } catch (error) {
      this.#failed += 1;
      console.log(`not ok - ${name}: ${error.message}`.replaceAll('\n', ' '));
      return undefined;
    }
  }

  /** Prints the last line and returns the exit status. */
  finish() {
    console.log(`${this.#passed} passed, ${this.#failed} failed`);
    return this.#failed === 0 && this.#passed > 0 ? 0 : 1;
  }
}

/** Throws unless both are the same JSON value, keys in any order. */
export function same(actual, expected, what) {
  const [left, right] = [actual, expected].map((value) => JSON.stringify(sorted(value)) ?? 'nothing');
  if (left !== right) throw new Error(`${what}: expected ${right}, got ${left}`);
}

function sorted(value) {
  if (Array.isArray(value)) return value.map(sorted);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((key) => [key, sorted(value[key])]),
  );
}
