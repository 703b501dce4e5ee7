import { strict as assert } from 'node:assert'
import { hash } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { inspect } from 'node:util'
import type { Awaitable, CallContext, Watch } from '../../contracts/index.js'

/**
 * A requirement for a store, for any test runner. `run` rejects with an `AssertionError` if the store does not meet it, or
 * with the store's own error.
 *
 * `needs` names optional parts of a store. Skip the case if your store lacks one of them.
 */
export interface ConformanceCase<Harness> {
  /** Stays the same from version to version. */
  readonly id: string
  /** The requirement as a sentence. */
  readonly name: string
  readonly needs: readonly CaseNeed[]
  run(harness: Harness): Promise<void>
}

/**
 * - `entries`: the ledger is also a `LedgerReader`
 * - `lookUps`: the ledger also has the methods of `LedgerLookUps`
 * - `revoke`: the result of `open` has `revoke`
 * - `change`: the result of `open` has `put` and `remove`
 * - `watch`: the store has `watch`, and its own `revoke`, `put` and `remove` report through it
 */
export type CaseNeed = 'entries' | 'lookUps' | 'revoke' | 'change' | 'watch'

/** A fresh store and the means to control it. */
export interface Opened<Store> {
  readonly store: Store
  /** Called after each case, whether or not it passed. */
  close?(): Awaitable<void>
  /** Advances the store's clock. If absent, the cases wait in real time, a few hundredths of a second. */
  advance?(ms: number): Awaitable<void>
}

/** Wraps a bare store. A store is recognised by `method`, since it may itself have a property `store`. */
export function asOpened<Store extends object, Extra extends Opened<Store>>(
  given: Store | Extra,
  method: keyof Store,
): Extra {
  const opened = isObject(given) && 'store' in given && !(method in given) ? given : { store: given }
  const isStore = isObject(opened.store) && method in opened.store
  checkAnswer('open', given, isStore, `a store with ${String(method)}, or { store, … }`)
  return opened as Extra
}

/** Fails with a clear message if a method returned a value that its contract does not allow. */
export function checkAnswer(method: string, answer: unknown, isValid: boolean, expected: string): void {
  assert.ok(isValid, `${method} must return ${expected}; got ${inspect(answer, { depth: 1 })}`)
}

export function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

/** Creates a context whose signal never aborts. */
export function createContext(): CallContext {
  return { requestId: 'conformance', signal: new AbortController().signal }
}

/** Creates ids like the router's, 32 hex digits. They are the same in every run. */
export function createIds(seed: string): (name: string) => string {
  return (name) => hash('sha256', `${seed}:${name}`).slice(0, 32)
}

/** Collects the reports of a watch. */
export function listenTo(watch: Watch): {
  readonly heard: readonly (string | undefined)[]
  /** Makes a change and returns the reports that follow. Fails if there are none within ten seconds. */
  next(change: () => Promise<void>): Promise<readonly (string | undefined)[]>
  end(): void
} {
  const heard: (string | undefined)[] = []
  const end = watch((id) => {
    heard.push(id)
  })
  checkAnswer('watch', end, typeof end === 'function', 'a function that ends it')
  return {
    heard,
    end,
    async next(change) {
      const before = heard.length
      await change()
      const isReported = await until(async () => heard.length > before)
      assert.ok(isReported, 'the watch did not report the change within ten seconds')
      return heard.slice(before)
    },
  }
}

const PATIENCE_MS = 10_000
const PAUSE_MS = 10

/** Waits until `isDone` is true, for at most ten seconds. Returns whether it became true. */
export async function until(isDone: () => Promise<boolean>): Promise<boolean> {
  for (let waited = 0; waited < PATIENCE_MS; waited += PAUSE_MS) {
    if (await isDone()) return true
    await wait(PAUSE_MS)
  }
  return false
}
