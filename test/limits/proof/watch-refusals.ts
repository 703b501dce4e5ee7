import type { HoldLimit, HoldRequest, LedgerStore } from '../../../src/contracts/index.js'
import type { DurableStores } from '../../../src/sql/stores.js'
import { lastState } from './audit.js'

/** A refusal, with the states of its bucket between which it was decided. */
export interface Refusal {
  readonly bucket: string
  readonly amount: string
  readonly limit: string
  /** The part of the bucket that the hold to be replaced accounted for. */
  readonly own: string
  readonly before: string
  readonly after: string
}

/** Reports each hold that a limit refuses. */
export function watchRefusals(stores: DurableStores, report: (line: object) => void): LedgerStore {
  const { ledger } = stores
  const parts = new Map<string, readonly HoldLimit[]>()
  return {
    ...ledger,
    async hold(request: HoldRequest, context) {
      const limits = request.limits ?? []
      const before = new Map<string, bigint>()
      for (const { bucket } of limits) before.set(bucket, await lastState(stores, bucket))
      const answer = await ledger.hold(request, context)
      if (answer.ok) parts.set(request.holdId, limits)
      else if (answer.reason === 'limited') {
        const limit = limits.find(({ bucket }) => bucket === answer.bucket)!
        const old = request.replaces === undefined ? undefined : parts.get(request.replaces)
        report({
          refusal: {
            bucket: answer.bucket,
            amount: limit.amount,
            limit: limit.limit,
            own: old?.find(({ bucket }) => bucket === answer.bucket)?.amount ?? 0n,
            before: before.get(answer.bucket),
            after: await lastState(stores, answer.bucket),
          },
        })
      }
      return answer
    },
  }
}
