import type { Awaitable } from '../../contracts/context.js'

/** What `next` makes of an answer: at once where the answer is there, since most stores have it in memory. */
export function andThen<T, U>(answer: Awaitable<T>, next: (value: T) => Awaitable<U>): Awaitable<U> {
  return isPromise(answer) ? answer.then(next) : next(answer)
}

export function isPromise<T>(value: Awaitable<T>): value is Promise<T> {
  return typeof (value as Promise<T> | undefined)?.then === 'function'
}
