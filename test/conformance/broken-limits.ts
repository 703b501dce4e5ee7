import type { HoldLimit, HoldRequest, HoldResult, LedgerStore, LimitUse } from '../../src/contracts/index.js'
import type { BrokenLedger } from './broken-ledgers.js'

const FOREVER_MS = 8_640_000_000_000_000

function withLimits(request: HoldRequest, change: (limit: HoldLimit) => HoldLimit): HoldRequest {
  return request.limits === undefined ? request : { ...request, limits: request.limits.map(change) }
}

function withoutLimits<Request extends { readonly limits?: unknown }>({ limits: _, ...request }: Request) {
  return request as Omit<Request, 'limits'>
}

/** A ledger that changes each limit of a hold, and each use of a settlement, before it tests or counts them. */
function changing(
  good: LedgerStore,
  change: (limit: HoldLimit) => HoldLimit,
  changeUse: (use: LimitUse) => LimitUse = (use) => use,
): Partial<LedgerStore> {
  return {
    hold: (request, context) => good.hold(withLimits(request, change), context),
    settle: (request, context) =>
      good.settle(
        request.limits === undefined ? request : { ...request, limits: request.limits.map(changeUse) },
        context,
      ),
  }
}

/** A ledger that answers holds otherwise. */
function answering(
  good: LedgerStore,
  answer: (result: HoldResult, request: HoldRequest) => HoldResult,
): Partial<LedgerStore> {
  return { hold: async (request, context) => answer(await good.hold(request, context), request) }
}

/** Ledgers with a fault in their limits. */
export const brokenLimits: readonly BrokenLedger[] = [
  {
    what: 'does not know limits',
    foundBy: 'limit-answered',
    spoil: (good) => ({
      hold: (request, context) => good.hold(withoutLimits(request), context),
      settle: (request, context) => good.settle(withoutLimits(request), context),
    }),
  },
  ...(['credits', 'requests', 'tokens'] as const).map((unit) => ({
    what: `answers limits of ${unit} but does not test them`,
    foundBy: `limit-${unit}`,
    spoil: (good: LedgerStore) =>
      changing(good, (limit) => (limit.unit === unit ? { ...limit, limit: 2n ** 62n } : limit)),
  })),
  {
    what: 'tests only the first limit',
    foundBy: 'limit-refused',
    spoil: (good) => ({
      hold: (request, context) =>
        good.hold(
          { ...request, ...(request.limits !== undefined && { limits: request.limits.slice(0, 1) }) },
          context,
        ),
    }),
  },
  {
    what: 'counts the request of a hold that a limit refuses',
    foundBy: 'limit-refused',
    spoil: (good) => ({
      hold: async (request, context) => {
        const result = await good.hold(request, context)
        const requests = request.limits?.filter(({ unit }) => unit === 'requests') ?? []
        if (result.ok || result.reason !== 'limited' || requests.length === 0) return result
        const holdId = `${request.holdId}-refused`
        await good.hold({ ...request, holdId, amount: 0n, limits: requests }, context)
        return result
      },
    }),
  },
  {
    what: 'counts the request of a hold whose claim is taken',
    foundBy: 'limit-claimed',
    spoil: (good) => ({
      hold: async (request, context) => {
        const result = await good.hold(request, context)
        if (!result.ok && result.reason === 'claimed') {
          const { claim: _, ...rest } = request
          await good.hold({ ...rest, holdId: `${request.holdId}-claimed` }, context)
        }
        return result
      },
    }),
  },
  {
    what: 'tests the limits before the balance',
    foundBy: 'limit-balance-first',
    spoil: (good) =>
      answering(good, (result, { limits: [limit] = [] }) =>
        !result.ok && result.reason === 'insufficient' && limit !== undefined
          ? { ok: false, reason: 'limited', bucket: limit.bucket, left: 0n, resetMs: 0, onlyHeld: false }
          : result,
      ),
  },
  {
    what: 'refuses a hold of 0 credits if nothing is left',
    foundBy: 'limit-zero',
    spoil: (good) =>
      changing(good, (limit) =>
        limit.unit === 'credits' && limit.amount === 0n ? { ...limit, amount: 1n } : limit,
      ),
  },
  {
    what: 'does not count the use of a settlement',
    foundBy: 'limit-settled',
    spoil: (good) => ({ settle: (request, context) => good.settle(withoutLimits(request), context) }),
  },
  {
    what: 'counts no more than the limit',
    foundBy: 'limit-passed',
    spoil: (good) =>
      changing(
        good,
        (limit) => limit,
        (use) => (use.used > 100n ? { ...use, used: 100n } : use),
      ),
  },
  {
    what: 'gives a request back if its call is released',
    foundBy: 'limit-released',
    spoil: (good) =>
      changing(
        good,
        (limit) => ({ ...limit, unit: limit.unit === 'requests' ? 'tokens' : limit.unit }),
        (use) => ({ ...use, unit: use.unit === 'requests' ? 'tokens' : use.unit }),
      ),
  },
  {
    what: 'does not give tokens back',
    foundBy: 'limit-expired',
    spoil: (good) =>
      changing(good, (limit) => ({ ...limit, unit: limit.unit === 'tokens' ? 'requests' : limit.unit })),
  },
  {
    what: 'ignores the use of an unknown hold',
    foundBy: 'limit-unknown-hold',
    spoil: (good) => {
      const known = new Set<string>()
      return {
        hold: (request, context) => {
          known.add(request.holdId)
          return good.hold(request, context)
        },
        settle: (request, context) =>
          good.settle(known.has(request.holdId) ? request : withoutLimits(request), context),
      }
    },
  },
  {
    what: 'creates a bucket for a settlement',
    foundBy: 'limit-unknown-bucket',
    spoil: (good) => ({
      settle: async (request, context) => {
        const { holdId, facts, limits = [] } = request
        for (const { bucket, unit } of limits) {
          const limit: HoldLimit = { bucket, unit, limit: 0n, amount: 0n, windows: [[0, FOREVER_MS]] }
          const hold = {
            holdId: `${holdId}-${bucket}`,
            account: facts.account,
            amount: 0n,
            ttlMs: 1_000,
            facts,
          }
          await good.hold({ ...hold, limits: [limit] }, context)
        }
        return good.settle(request, context)
      },
    }),
  },
  {
    what: 'takes a hold with other limits for a repeat',
    foundBy: 'limit-repeated',
    spoil: (good) => {
      const first = new Map<string, HoldRequest>()
      return {
        hold: async (request, context) => {
          const known = first.get(request.holdId)
          const { limits } = known ?? request
          const result = await good.hold({ ...request, ...(limits !== undefined && { limits }) }, context)
          if (result.ok) first.set(request.holdId, request)
          return result
        },
      }
    },
  },
  {
    what: 'rejects a repeat after its periods',
    foundBy: 'limit-repeated-late',
    spoil: (good) => ({
      hold: async (request, context) => {
        if (request.limits?.some(({ windows }) => windows.at(-1)![1] === 1)) throw new RangeError('No window')
        return good.hold(request, context)
      },
    }),
  },
  {
    what: 'counts a replacement besides the hold that it replaces',
    foundBy: 'limit-replaced',
    spoil: (good) => ({
      hold: async (request, context) => {
        const { replaces, ...fresh } = request
        if (replaces === undefined || request.limits === undefined) return good.hold(request, context)
        const result = await good.hold(fresh, context)
        if (result.ok) await good.release({ holdId: replaces, account: request.account }, context)
        return result
      },
    }),
  },
  {
    what: 'does not test a replacement',
    foundBy: 'limit-replaced',
    spoil: (good) => ({
      hold: (request, context) =>
        good.hold(
          request.replaces === undefined
            ? request
            : withLimits(request, (limit) => ({ ...limit, limit: 2n ** 62n })),
          context,
        ),
    }),
  },
  {
    what: 'counts a replacement as a second request',
    foundBy: 'limit-replaced-request',
    spoil: (good) => ({
      hold: async (request, context) => {
        const result = await good.hold(request, context)
        const requests = request.limits?.filter(({ unit }) => unit === 'requests') ?? []
        if (result.ok && request.replaces !== undefined && requests.length > 0) {
          const { replaces: _, ...rest } = request
          const holdId = `${request.holdId}-again`
          const again = await good.hold({ ...rest, holdId, amount: 0n, limits: requests }, context)
          if (!again.ok) return again
        }
        return result
      },
    }),
  },
  {
    what: 'never starts a bucket again, and takes a hold outside of its periods',
    foundBy: 'limit-later-period',
    spoil: (good) => changing(good, (limit) => ({ ...limit, windows: [[0, FOREVER_MS]] })),
  },
  {
    what: 'accepts a hold outside of its periods',
    foundBy: 'limit-outside',
    spoil: (good) =>
      changing(good, (limit) =>
        limit.windows.at(-1)![1] === 1 ? { ...limit, windows: [[0, FOREVER_MS]] } : limit,
      ),
  },
  {
    what: 'goes back to an earlier period',
    foundBy: 'limit-never-back',
    spoil: (good) => {
      const split = ({ bucket, windows }: HoldLimit) => `${bucket}@${windows.at(-1)![0]}`
      return {
        hold: async (request, context) => {
          const result = await good.hold(
            withLimits(request, (limit) => ({ ...limit, bucket: split(limit) })),
            context,
          )
          const named = (bucket: string) => bucket.split('@')[0]!
          if (!result.ok) {
            return result.reason === 'limited' ? { ...result, bucket: named(result.bucket) } : result
          }
          const { limits } = result
          return limits === undefined
            ? result
            : { ok: true, limits: limits.map((state) => ({ ...state, bucket: named(state.bucket) })) }
        },
      }
    },
  },
  {
    what: 'counts an earlier period in the present one',
    foundBy: 'limit-later-period',
    spoil: (good) => {
      const latest = new Map<string, number>()
      return {
        hold: async (request, context) => {
          const result = await good.hold(request, context)
          if (result.ok) for (const { bucket, from } of result.limits ?? []) latest.set(bucket, from)
          return result
        },
        settle: (request, context) => {
          const limits = request.limits?.map((use) => ({ ...use, from: latest.get(use.bucket) ?? use.from }))
          return good.settle({ ...request, ...(limits !== undefined && { limits }) }, context)
        },
      }
    },
  },
  {
    what: 'names the first of several limits',
    foundBy: 'limit-longest',
    spoil: (good) =>
      answering(good, (result, { limits = [] }) =>
        !result.ok && result.reason === 'limited' ? { ...result, bucket: limits[0]!.bucket } : result,
      ),
  },
  {
    what: 'does not say that only open holds are in the way',
    foundBy: 'limit-tokens',
    spoil: (good) =>
      answering(good, (result) =>
        !result.ok && result.reason === 'limited' ? { ...result, onlyHeld: false } : result,
      ),
  },
  {
    what: 'accepts the same bucket twice',
    foundBy: 'limit-impossible',
    spoil: (good) => ({
      hold: (request, context) => {
        const buckets = new Map(request.limits?.map((limit) => [limit.bucket, limit]))
        return good.hold(
          { ...request, ...(request.limits !== undefined && { limits: [...buckets.values()] }) },
          context,
        )
      },
    }),
  },
  {
    what: 'tests its limits and holds in two steps',
    foundBy: 'limit-parallel',
    spoil: (good) => ({
      hold: async (request, context) => {
        if (request.limits === undefined) return good.hold(request, context)
        const tried = await good.hold({ ...request, holdId: `${request.holdId}-test` }, context)
        await good.release({ holdId: `${request.holdId}-test`, account: request.account }, context)
        await new Promise(setImmediate)
        if (!tried.ok) return tried
        return good.hold(
          withLimits(request, (limit) => ({ ...limit, limit: 2n ** 62n })),
          context,
        )
      },
    }),
  },
  {
    what: 'forgets the use in its entries',
    foundBy: 'limit-entry',
    spoil: (good) => ({
      entries: async (query, context) => {
        const page = await good.entries(query, context)
        return { ...page, entries: page.entries.map(withoutLimits) }
      },
    }),
  },
]
