import { strict as assert } from 'node:assert'
import { hash } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { inspect } from 'node:util'
import type { Awaitable, CallContext, Watch } from '../../contracts/index.js'

/**
 * One thing that a store must do. `run` rejects with an `AssertionError` if it does not, or with what the store itself
 * threw; any test runner will do.
 *
 * `needs` names what a store may lack; leave those cases out for a store that lacks it.
 */
export interface ConformanceCase<Harness> {
  /** Stays the same from version to version. */
  readonly id: string
  /** A sentence that says what the store does. */
  readonly name: string
  readonly needs: readonly CaseNeed[]
  run(harness: Harness): Promise<void>
}

/**
 * - `entries`: the ledger is a `LedgerReader` too
 * - `revoke`: what `open` gave has `revoke`
 * - `change`: what `open` gave has `put` and `remove`
 * - `watch`: the store has `watch`, and its own `revoke`, `put` and `remove` report through it
 */
export type CaseNeed = 'entries' | 'revoke' | 'change' | 'watch'

/** A fresh store, alone or with what belongs to it. */
export interface Opened<Store> {
  readonly store: Store
  /** Called after each case, whether or not it passed. */
  close?(): Awaitable<void>
  /** Moves the store's clock on, if it is the test's. Otherwise the cases wait in real time, some hundredths of a second. */
  advance?(ms: number): Awaitable<void>
}

/** Puts the shorter way, a bare store, into the longer form. A store has `method`, and may have a `store` of its own. */
export function asOpened<Store extends object, Extra extends Opened<Store>>(
  given: Store | Extra,
  method: keyof Store,
): Extra {
  const opened = isObject(given) && 'store' in given && !(method in given) ? given : { store: given }
  const isStore = isObject(opened.store) && method in opened.store
  checkAnswer('open', given, isStore, `a store with ${String(method)}, or { store } and what belongs to it`)
  return opened as Extra
}

/** Fails if an answer is not of the kind that its contract says, before anybody stumbles over it. */
export function checkAnswer(method: string, answer: unknown, isOfItsKind: boolean, kind: string): void {
  assert.ok(isOfItsKind, `${method} must answer ${kind}; got ${inspect(answer, { depth: 1 })}`)
}

export function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

/** A context whose signal never aborts. */
export function createContext(): CallContext {
  return { requestId: 'conformance', signal: new AbortController().signal }
}

/** Ids as the router makes them: 32 hex digits, the same in every run. */
export function createIds(seed: string): (name: string) => string {
  return (name) => hash('sha256', `${seed}:${name}`).slice(0, 32)
}

/** Hears what a watch reports. */
export function listenTo(watch: Watch): {
  readonly heard: readonly (string | undefined)[]
  /** Makes a change and waits until something is reported; fails if nothing is within ten seconds. */
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
      assert.ok(isReported, 'the watch has not reported the change within ten seconds')
      return heard.slice(before)
    },
  }
}

const PATIENCE_MS = 10_000
const PAUSE_MS = 10

/** Waits until `isDone`, ten seconds at most. Returns whether it was. */
export async function until(isDone: () => Promise<boolean>): Promise<boolean> {
  for (let waited = 0; waited < PATIENCE_MS; waited += PAUSE_MS) {
    if (await isDone()) return true
    await wait(PAUSE_MS)
  }
  return false
}
