import type { Awaitable } from '../../contracts/context.js'

/** Calls `next` with an answer, without waiting if it is not a promise: most stores answer from memory. */
export function andThen<T, U>(answer: Awaitable<T>, next: (value: T) => Awaitable<U>): Awaitable<U> {
  return isPromise(answer) ? answer.then(next) : next(answer)
}

export function isPromise<T>(value: Awaitable<T>): value is Promise<T> {
  return typeof (value as Promise<T> | undefined)?.then === 'function'
}
