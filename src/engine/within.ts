import type { Clock } from '../clock.js'
import type { Awaitable } from '../contracts/context.js'
import { isPromise } from './awaitable.js'

/** A deadline of the router's passed before an answer came. */
export class DeadlinePassed extends Error {
  override readonly name = 'DeadlinePassed'
  constructor(ms: number) {
    super(`No answer within ${ms} ms.`)
  }
}

/**
 * Rejects with {@link DeadlinePassed} where the answer takes longer. What the answer brings afterwards is dropped.
 * `explain` turns what went wrong into what the caller is told.
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
    let isAnswered = false
    answer.then(
      (value) => {
        isAnswered = true
        cancel?.()
        resolve(value)
      },
      (error) => {
        isAnswered = true
        cancel?.()
        reject(explain(error))
      },
    )
    afterReadyAnswers(() => {
      if (!isAnswered) cancel = clock.after(ms, () => reject(explain(new DeadlinePassed(ms))))
    })
  })
}

/** Runs `run` once every promise that is fulfilled by now has told so. An answer that was there needs no timer. */
export function afterReadyAnswers(run: () => void): void {
  void READY.then(run)
}

const READY = Promise.resolve()
