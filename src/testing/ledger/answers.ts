import type { LedgerLookUps, LedgerReader, LedgerStore } from '../../contracts/index.js'
import { checkAnswer, isObject } from '../base/case.js'

export type LedgerUnderTest = LedgerStore & Partial<LedgerReader & LedgerLookUps>

/** Wraps a ledger so that a result of the wrong shape fails the case that called. */
export function withAnswersChecked(ledger: LedgerUnderTest): LedgerUnderTest {
  return {
    async hold(request, context) {
      const answer = await ledger.hold(request, context)
      const isResult = isObject(answer) && (answer.ok || 'reason' in answer)
      checkAnswer('hold', answer, isResult, '{ ok: true }, or { ok: false, reason }')
      return answer
    },
    async settle(request, context) {
      const answer = await ledger.settle(request, context)
      const isResult = isObject(answer) && isObject(answer.charge?.usage)
      checkAnswer('settle', answer, isResult, '{ repeated, charge, overdraft }, with all of the charge')
      return answer
    },
    async release(request, context) {
      const answer = await ledger.release(request, context)
      checkAnswer('release', answer, isObject(answer), "{ state }: 'released' or 'settled'")
      return answer
    },
    async balance(account, context) {
      const answer = await ledger.balance(account, context)
      const isBalance = answer === undefined || isObject(answer)
      checkAnswer(
        'balance',
        answer,
        isBalance,
        '{ posted, held, available }, or undefined without an account',
      )
      return answer
    },
    async expireHolds(limit, context) {
      const answer = await ledger.expireHolds(limit, context)
      checkAnswer('expireHolds', answer, Array.isArray(answer), 'an array of the holds that it marked')
      return answer
    },
    ...(ledger.entries !== undefined && {
      async entries(query, context) {
        const answer = await ledger.entries!(query, context)
        const isPage = isObject(answer) && Array.isArray(answer.entries)
        checkAnswer('entries', answer, isPage, '{ entries }, and next if there are more')
        return answer
      },
    }),
    ...(ledger.findCall !== undefined && {
      async findCall(query, context) {
        const answer = await ledger.findCall!(query, context)
        const isCall = answer === undefined || (isObject(answer) && 'state' in answer)
        checkAnswer('findCall', answer, isCall, 'a call with its state, or undefined')
        return answer
      },
    }),
    ...(ledger.spent !== undefined && {
      async spent(query, context) {
        const answer = await ledger.spent!(query, context)
        const isSpent = isObject(answer) && isObject(answer.balance)
        checkAnswer('spent', answer, isSpent, '{ balance, total, today, week, month }')
        return answer
      },
    }),
    ...(ledger.limitCounts !== undefined && {
      async limitCounts(limits, context) {
        const answer = await ledger.limitCounts!(limits, context)
        checkAnswer('limitCounts', answer, Array.isArray(answer), 'an array with the count of each limit')
        return answer
      },
    }),
  }
}
