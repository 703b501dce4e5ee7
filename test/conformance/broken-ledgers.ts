import type {
  HoldRequest,
  HoldResult,
  LedgerReader,
  LedgerStore,
  SettleRequest,
} from '../../src/contracts/index.js'

type Ledger = LedgerStore & LedgerReader

/** A good ledger with one fault, and a case that must find it. */
export interface BrokenLedger {
  readonly what: string
  readonly foundBy: string
  spoil(good: Ledger): Partial<Ledger>
}

let fresh = 0

/** Returns a fresh id, so that the good ledger treats a repeat as something new. */
function another(holdId: string): string {
  fresh++
  return `${holdId}-${fresh}`
}

function withoutClaim<Request extends { readonly claim?: string }>({ claim: _, ...request }: Request) {
  return request
}

function withoutReplaces({ replaces: _, ...request }: HoldRequest): HoldRequest {
  return request
}

/** Balances a request, as if the ledger did not check its postings. */
function balanced(request: SettleRequest): SettleRequest {
  const total = request.postings.reduce((sum, { amount }) => sum + amount, 0n)
  return { ...request, postings: [...request.postings, { account: 'rest', amount: -total }] }
}

export const brokenLedgers: readonly BrokenLedger[] = [
  {
    what: 'posts a repeated settlement again',
    foundBy: 'table-settle-settled',
    spoil: (good) => ({
      settle: async (request, context) => {
        const first = await good.settle(request, context)
        if (!first.repeated) return first
        const { claim: _, ...again } = request
        await good.settle({ ...again, holdId: another(request.holdId) }, context)
        return first
      },
    }),
  },
  {
    what: 'forgets the audio and image tokens of a charge',
    foundBy: 'posting-charge-whole',
    spoil: (good) => ({
      settle: async (request, context) => {
        const result = await good.settle(request, context)
        const { prompt, cached, cacheWrite, completion, reasoning } = result.charge.usage
        const usage = { prompt, cached, cacheWrite, completion, reasoning }
        return { ...result, charge: { ...result.charge, usage } }
      },
    }),
  },
  {
    what: 'returns the new charge for a repeated settlement',
    foundBy: 'table-settle-settled',
    spoil: (good) => ({
      settle: async (request, context) => ({
        ...(await good.settle(request, context)),
        charge: request.charge,
      }),
    }),
  },
  {
    what: 'never reports a repeated settlement',
    foundBy: 'table-settle-settled',
    spoil: (good) => ({
      settle: async (request, context) => ({ ...(await good.settle(request, context)), repeated: false }),
    }),
  },
  {
    what: 'does not release',
    foundBy: 'table-release-held',
    spoil: () => ({ release: async () => ({ state: 'released' }) }),
  },
  {
    what: 'leaves no mark if it releases an unknown hold',
    foundBy: 'table-release-unknown',
    spoil: (good) => {
      const known = new Set<string>()
      return {
        hold: async (request, context) => {
          known.add(request.holdId)
          return good.hold(request, context)
        },
        release: async (request, context) =>
          known.has(request.holdId) ? good.release(request, context) : { state: 'released' },
      }
    },
  },
  {
    what: 'grants every hold',
    foundBy: 'parallel-holds',
    spoil: (good) => ({
      hold: async (request, context) => {
        const result = await good.hold(request, context)
        return !result.ok && result.reason === 'insufficient' ? { ok: true } : result
      },
    }),
  },
  {
    what: 'checks the balance and holds in two steps',
    foundBy: 'parallel-holds',
    spoil: (good) => ({
      hold: async (request, context) => {
        const balance = await good.balance(request.account, context)
        await new Promise(setImmediate)
        if (request.amount > (balance?.available ?? 0n)) {
          return {
            ok: false,
            reason: 'insufficient',
            posted: balance?.posted ?? 0n,
            available: balance?.available ?? 0n,
          }
        }
        const result = await good.hold(request, context)
        return !result.ok && result.reason === 'insufficient' ? { ok: true } : result
      },
    }),
  },
  {
    what: 'treats holds of 0 like other holds',
    foundBy: 'credit-zero',
    spoil: (good) => ({
      hold: async (request, context) => {
        const balance = await good.balance(request.account, context)
        if (balance === undefined || balance.available < request.amount) {
          return {
            ok: false,
            reason: 'insufficient',
            posted: balance?.posted ?? 0n,
            available: balance?.available ?? 0n,
          }
        }
        return good.hold(request, context)
      },
    }),
  },
  {
    what: 'ignores claims',
    foundBy: 'claim-open',
    spoil: (good) => ({
      hold: (request, context) => good.hold(withoutClaim(request), context),
      settle: (request, context) => good.settle(withoutClaim(request), context),
    }),
  },
  {
    what: 'takes no claim with a settlement',
    foundBy: 'claim-without-hold',
    spoil: (good) => ({ settle: (request, context) => good.settle(withoutClaim(request), context) }),
  },
  {
    what: 'does not return the charge of a settled claim',
    foundBy: 'claim-settled',
    spoil: (good) => ({
      hold: async (request, context) => {
        const result = await good.hold(request, context)
        return !result.ok && result.reason === 'claimed' ? { ok: false, reason: 'claimed' } : result
      },
    }),
  },
  {
    what: 'does not report a lost claim',
    foundBy: 'claim-lost',
    spoil: (good) => ({
      settle: async (request, context) => {
        const { claimLost: _, ...settled } = await good.settle(request, context)
        return settled
      },
    }),
  },
  {
    what: 'does not post a settlement that lost its claim',
    foundBy: 'claim-lost',
    spoil: (good) => {
      const owners = new Map<string, string>()
      return {
        hold: async (request, context) => {
          const result = await good.hold(request, context)
          if (result.ok && request.claim !== undefined) owners.set(request.claim, request.holdId)
          return result
        },
        settle: async (request, context) => {
          const owner = request.claim === undefined ? undefined : owners.get(request.claim)
          if (owner !== undefined && owner !== request.holdId) {
            return { repeated: false, charge: request.charge, overdraft: 0n, claimLost: true }
          }
          return good.settle(request, context)
        },
      }
    },
  },
  {
    what: 'does not pay the app',
    foundBy: 'table-settle-held',
    spoil: (good) => ({
      settle: (request, context) => {
        const postings = request.postings.map((posting) =>
          posting.account === 'app' ? { ...posting, account: 'platform' } : posting,
        )
        return good.settle({ ...request, postings }, context)
      },
    }),
  },
  {
    what: 'counts only the last posting to an account',
    foundBy: 'posting-one-account',
    spoil: (good) => ({
      settle: (request, context) => {
        const last = new Map(request.postings.map((posting) => [posting.account, posting]))
        return good.settle(balanced({ ...request, postings: [...last.values()] }), context)
      },
    }),
  },
  {
    what: 'accepts postings that do not add up',
    foundBy: 'posting-unbalanced',
    spoil: (good) => ({ settle: (request, context) => good.settle(balanced(request), context) }),
  },
  {
    what: 'accepts negative amounts',
    foundBy: 'posting-negative-hold',
    spoil: (good) => ({
      hold: (request, context) =>
        good.hold({ ...request, amount: request.amount < 0n ? 0n : request.amount }, context),
    }),
  },
  {
    what: 'refuses an overdraft',
    foundBy: 'credit-overdraft',
    spoil: (good) => ({
      settle: async (request, context) => {
        const balance = await good.balance(request.facts.account, context)
        if (request.charge.cost > (balance?.posted ?? 0n)) throw new Error('not enough credit')
        return good.settle(request, context)
      },
    }),
  },
  {
    what: 'charges at most the hold',
    foundBy: 'credit-above-hold',
    spoil: (good) => {
      const amounts = new Map<string, bigint>()
      return {
        hold: (request, context) => {
          amounts.set(request.holdId, request.amount)
          return good.hold(request, context)
        },
        settle: (request, context) => {
          const most = amounts.get(request.holdId) ?? request.charge.cost
          if (request.charge.cost <= most) return good.settle(request, context)
          const postings = [
            { account: request.facts.account, amount: -most },
            { account: 'platform', amount: most },
          ]
          return good.settle({ ...request, postings }, context)
        },
      }
    },
  },
  {
    what: 'refuses a settlement for unknown accounts',
    foundBy: 'posting-accounts-made',
    spoil: (good) => ({
      settle: async (request, context) => {
        for (const { account } of request.postings) {
          if ((await good.balance(account, context)) === undefined) throw new Error(`no account ${account}`)
        }
        return good.settle(request, context)
      },
    }),
  },
  {
    what: 'does not free a replaced hold',
    foundBy: 'replace-dearer',
    spoil: (good) => ({ hold: (request, context) => good.hold(withoutReplaces(request), context) }),
  },
  {
    what: 'frees the replaced hold before the new one is granted',
    foundBy: 'replace-refused',
    spoil: (good) => ({
      hold: async (request, context) => {
        if (request.replaces !== undefined) {
          await good.release({ holdId: request.replaces, account: request.account }, context)
        }
        return good.hold(request, context)
      },
    }),
  },
  {
    what: 'does not pass the claim on to the replacement',
    foundBy: 'replace-carries-claim',
    spoil: (good) => ({
      hold: async (request, context) => {
        if (request.replaces === undefined) return good.hold(request, context)
        const result = await good.hold(request, context)
        if (!result.ok) return result
        await good.release(request, context)
        const again = { ...withoutReplaces(withoutClaim(request)), holdId: another(request.holdId) }
        return good.hold(again, context)
      },
    }),
  },
  {
    what: 'grants a replacement of a settled hold',
    foundBy: 'replace-settled',
    spoil: (good) => {
      const settled = new Set<string>()
      return {
        hold: (request, context) =>
          good.hold(settled.has(request.replaces ?? '') ? withoutReplaces(request) : request, context),
        settle: (request, context) => {
          settled.add(request.holdId)
          return good.settle(request, context)
        },
      }
    },
  },
  {
    what: 'never expires holds',
    foundBy: 'expiry-frees',
    spoil: (good) => ({ hold: (request, context) => good.hold({ ...request, ttlMs: 1e12 }, context) }),
  },
  {
    what: 'counts an expired hold until a call of expireHolds',
    foundBy: 'expiry-frees',
    spoil: (good) => {
      const open = new Map<string, HoldRequest>()
      const heldOf = (account: string): bigint =>
        [...open.values()].reduce((sum, hold) => (hold.account === account ? sum + hold.amount : sum), 0n)
      return {
        hold: async (request, context) => {
          const result = await good.hold(request, context)
          if (result.ok) open.set(request.holdId, request)
          return result
        },
        release: (request, context) => {
          open.delete(request.holdId)
          return good.release(request, context)
        },
        settle: (request, context) => {
          open.delete(request.holdId)
          return good.settle(request, context)
        },
        balance: async (account, context) => {
          const balance = await good.balance(account, context)
          return balance && { ...balance, held: heldOf(account), available: balance.posted - heldOf(account) }
        },
        expireHolds: async (limit, context) => {
          const expired = await good.expireHolds(limit, context)
          for (const { holdId } of expired) open.delete(holdId)
          return expired
        },
      }
    },
  },
  {
    what: 'reports an expired hold again and again',
    foundBy: 'expiry-reported',
    spoil: (good) => {
      const seen: Awaited<ReturnType<Ledger['expireHolds']>>[number][] = []
      return {
        expireHolds: async (limit, context) => {
          seen.push(...(await good.expireHolds(limit, context)))
          return seen.slice(0, limit)
        },
      }
    },
  },
  {
    what: 'ignores the limit of expireHolds',
    foundBy: 'expiry-limit',
    spoil: (good) => ({ expireHolds: (_limit, context) => good.expireHolds(1_000, context) }),
  },
  {
    what: 'does not post a settlement after a release',
    foundBy: 'table-settle-released',
    spoil: (good) => {
      const released = new Set<string>()
      return {
        release: (request, context) => {
          released.add(request.holdId)
          return good.release(request, context)
        },
        settle: async (request, context) =>
          released.has(request.holdId)
            ? { repeated: false, charge: request.charge, overdraft: 0n }
            : good.settle(request, context),
      }
    },
  },
  {
    what: 'keeps balances as doubles',
    foundBy: 'credit-huge',
    spoil: (good) => ({
      balance: async (account, context) => {
        const balance = await good.balance(account, context)
        if (balance === undefined) return undefined
        const [posted, held] = [BigInt(Number(balance.posted)), BigInt(Number(balance.held))]
        return { posted, held, available: posted - held }
      },
    }),
  },
  {
    what: 'returns a balance for an unknown account',
    foundBy: 'credit-unknown-account',
    spoil: (good) => ({
      balance: async (account, context) =>
        (await good.balance(account, context)) ?? { posted: 0n, held: 0n, available: 0n },
    }),
  },
  {
    what: 'accepts the same hold id with another amount',
    foundBy: 'table-hold-held-other',
    spoil: (good) => ({
      hold: async (request, context) => {
        const result = await good.hold(request, context)
        return !result.ok && result.reason === 'conflict' ? { ok: true } : result
      },
    }),
  },
  {
    what: 'starts every page at the newest entry',
    foundBy: 'entries-pages',
    spoil: (good) => ({
      entries: async ({ after: _, ...query }, context) => {
        const { next: __, ...page } = await good.entries(query, context)
        return page
      },
    }),
  },
  {
    what: 'has no default limit for a page',
    foundBy: 'entries-limit',
    spoil: (good) => ({ entries: (query, context) => good.entries({ limit: 1_000, ...query }, context) }),
  },
  {
    what: 'never returns more than a hundred entries',
    foundBy: 'entries-limit',
    spoil: (good) => ({
      entries: ({ limit = 100, ...query }, context) =>
        good.entries({ ...query, limit: Math.min(limit, 100) }, context),
    }),
  },
  {
    what: 'finds entries only by their payer',
    foundBy: 'entries-account',
    spoil: (good) => ({
      entries: async (query, context) => {
        const page = await good.entries(query, context)
        const { account } = query
        if (account === undefined) return page
        return { ...page, entries: page.entries.filter((entry) => entry.facts?.account === account) }
      },
    }),
  },
  {
    what: 'never reaches the last page',
    foundBy: 'entries-pages',
    spoil: (good) => ({
      entries: async ({ after: _, ...query }, context) => ({
        ...(await good.entries(query, context)),
        next: 'more',
      }),
    }),
  },
  {
    what: 'keeps the amounts of charges as doubles',
    foundBy: 'credit-huge',
    spoil: (good) => ({
      settle: async (request, context) => {
        const result = await good.settle(request, context)
        return { ...result, charge: { ...result.charge, cost: BigInt(Number(result.charge.cost)) } }
      },
    }),
  },
  {
    what: 'does not return the overdraft of a repeated settlement',
    foundBy: 'credit-overdraft',
    spoil: (good) => ({
      settle: async (request, context) => {
        const result = await good.settle(request, context)
        return result.repeated ? { ...result, overdraft: 0n } : result
      },
    }),
  },
  {
    what: 'accepts the same hold id as a replacement of another hold',
    foundBy: 'table-hold-held-other',
    spoil: (good) => ({
      hold: async (request, context) => {
        const result = await good.hold(request, context)
        const isConflict = !result.ok && result.reason === 'conflict'
        return isConflict && request.replaces !== undefined ? { ok: true } : result
      },
    }),
  },
  {
    what: 'frees the claim of a hold whose settlement does not name it',
    foundBy: 'claim-unnamed',
    spoil: (good) => ({
      settle: async (request, context) => {
        if (request.claim !== undefined) return good.settle(request, context)
        const { holdId, facts } = request
        await good.release({ holdId, account: facts.account }, context)
        return good.settle({ ...request, holdId: another(holdId) }, context)
      },
    }),
  },
  {
    what: 'ends a hold if the claim of its replacement is taken',
    foundBy: 'replace-claimed',
    spoil: (good) => ({
      hold: async (request, context) => {
        const result = await good.hold(request, context)
        const { account, replaces } = request
        if (!result.ok && result.reason === 'claimed' && replaces !== undefined) {
          await good.release({ holdId: replaces, account }, context)
        }
        return result
      },
    }),
  },
  {
    what: 'counts the credit of a replaced hold as free for any account',
    foundBy: 'replace-other-account',
    spoil: (good) => {
      const amounts = new Map<string, bigint>()
      return {
        hold: async (request, context) => {
          amounts.set(request.holdId, request.amount)
          const result = await good.hold(request, context)
          if (result.ok || result.reason !== 'insufficient' || request.replaces === undefined) return result
          const freed = amounts.get(request.replaces) ?? 0n
          return result.available + freed < request.amount ? result : { ok: true }
        },
      }
    },
  },
  {
    what: 'accepts a debt beyond 64 bits',
    foundBy: 'posting-underflow',
    spoil: (good) => ({
      settle: async (request, context) => {
        try {
          return await good.settle(request, context)
        } catch (error) {
          if (!(error instanceof RangeError)) throw error
          return { repeated: false, charge: request.charge, overdraft: 0n }
        }
      },
    }),
  },
  {
    what: 'stores a charge without copying it',
    foundBy: 'copy-settlement',
    spoil: (good) => {
      const charges = new Map<string, SettleRequest['charge']>()
      return {
        settle: async (request, context) => {
          const result = await good.settle(request, context)
          if (!result.repeated) charges.set(request.holdId, request.charge)
          return { ...result, charge: charges.get(request.holdId)! }
        },
      }
    },
  },
  {
    what: 'returns the charge of a claim without copying it',
    foundBy: 'copy-claimed-charge',
    spoil: (good) => {
      const results = new Map<string, HoldResult>()
      return {
        hold: async (request, context) => {
          const result = await good.hold(request, context)
          if (result.ok || result.reason !== 'claimed' || request.claim === undefined) return result
          const first = results.get(request.claim) ?? { ...result, charge: { ...result.charge! } }
          results.set(request.claim, first)
          return first
        },
      }
    },
  },
  {
    what: 'stores the facts of a hold without copying them',
    foundBy: 'copy-hold-facts',
    spoil: (good) => {
      const facts = new Map<string, HoldRequest['facts']>()
      return {
        hold: async (request, context) => {
          facts.set(request.holdId, request.facts)
          return good.hold(request, context)
        },
        expireHolds: async (limit, context) =>
          (await good.expireHolds(limit, context)).map((hold) => ({
            ...hold,
            facts: facts.get(hold.holdId)!,
          })),
      }
    },
  },
  {
    what: 'returns the time of an entry in seconds',
    foundBy: 'entries-charge',
    spoil: (good) => ({
      entries: async (query, context) => {
        const page = await good.entries(query, context)
        return {
          ...page,
          entries: page.entries.map((entry) => ({ ...entry, at: Math.floor(entry.at / 1_000) })),
        }
      },
    }),
  },
  {
    what: 'stores the postings of an entry without copying them',
    foundBy: 'copy-entries',
    spoil: (good) => {
      const postings = new Map<string, SettleRequest['postings']>()
      return {
        settle: async (request, context) => {
          postings.set(request.holdId, request.postings)
          return good.settle(request, context)
        },
        entries: async (query, context) => {
          const page = await good.entries(query, context)
          const entries = page.entries.map((entry) => ({
            ...entry,
            postings: postings.get(entry.holdId ?? '') ?? entry.postings,
          }))
          return { ...page, entries }
        },
      }
    },
  },
]
