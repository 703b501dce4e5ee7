import type { Clock } from '../../base/clock.js'
import type { Awaitable } from '../../contracts/context.js'

/** `timeouts.storeMs` passed before a store, or `admit`, had answered. */
export class DeadlinePassed extends Error {
  override readonly name = 'DeadlinePassed'
  constructor(ms: number) {
    super(`No answer within ${ms} ms, which is timeouts.storeMs.`)
  }
}

/**
 * Rejects with {@link DeadlinePassed} if the answer takes longer, and ignores a later answer. `explain` turns that
 * error into the one for the caller, and is called once.
 */
export function within<T>(
  clock: Clock,
  ms: number,
  answer: Awaitable<T>,
  explain: (error: unknown) => unknown = (error) => error,
): Awaitable<T> {
  if (!isPromise(answer)) return answer
  return new Promise((resolve, reject) => {
    let cancel: (() => void) | undefined
    let isOver = false
    const refuse = (error: unknown): void => {
      if (isOver) return
      isOver = true
      cancel?.()
      reject(explain(error))
    }
    nativeOf(answer).then((value) => {
      isOver = true
      cancel?.()
      resolve(value)
    }, refuse)
    afterReadyAnswers(() => {
      if (!isOver) cancel = clock.after(ms, () => refuse(new DeadlinePassed(ms)))
    })
  })
}

/**
 * Calls `run` after the reactions of all promises that are already fulfilled, since an answer that is ready needs no
 * timer.
 */
export function afterReadyAnswers(run: () => void): void {
  void READY.then(run)
}

const READY = Promise.resolve()

/** Calls `next` with an answer, without waiting if it is not a promise. Most stores answer from memory. */
export function andThen<T, U>(answer: Awaitable<T>, next: (value: T) => Awaitable<U>): Awaitable<U> {
  return isPromise(answer) ? nativeOf(answer).then(next) : next(answer)
}

/** Returns a promise of the language's own for a host's, whose `then` may throw or return nothing. */
export function nativeOf<T>(answer: Promise<T>): Promise<T> {
  return Promise.resolve(answer)
}

export function isPromise<T>(value: Awaitable<T>): value is Promise<T> {
  return typeof (value as Promise<T> | undefined)?.then === 'function'
}
