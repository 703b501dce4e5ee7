import { parseCredits } from '../../../src/base/money.js'
import type { Principal } from '../../../src/index.js'
import { bucketOf } from '../../../src/rules/bucket-of.js'
import type { Limit } from '../../../src/stores.js'
import type { Bug } from './bugs.js'

/** What the processes of a proof share: their database, their callers, and how much they ask for. */
export interface World {
  readonly engine: 'SQLite' | 'PostgreSQL'
  /** A file, or the URL of a database. */
  readonly place: string
  /** The calls of all processes together, from which the limits follow. */
  readonly calls: number
  /** `overlap` has four overlapping limits, `rate` one limit of a tenth of the calls. */
  readonly kind: 'overlap' | 'rate'
  /** The fault that the processes plant in their ledger. */
  readonly bug?: Bug
}

export const MODEL = 'acme/fast'
export const OPENING = '1000000'
export const CHEAP = { input: '10', output: '10', request: '0.001' }
export const DEAR = { input: '10', output: '10', request: '0.003' }
export const MAX_TOKENS = 20
/** The limits of `overlap` that refuse calls. */
export const BINDING = ['key-0-requests', 'key-3-tokens', 'account-0', 'app'] as const
const KEYS = 4
const MEAN_COST = 0.0016
const MEAN_TOKENS = 32

/** The callers, by their tokens. */
export function callersOf({ calls, kind }: World): ReadonlyMap<string, Principal> {
  const callers = new Map<string, Principal>()
  for (let key = 0; key < KEYS; key++) {
    const account = `account-${key % 2}`
    const each = calls / KEYS
    const count = (amount: number) => BigInt(Math.round(amount))
    const credits = (charges: number) => parseCredits((charges * MEAN_COST).toFixed(9))
    const overlapping: readonly Limit[] = [
      {
        id: `key-${key}-requests`,
        unit: 'requests',
        per: 'total',
        amount: count(each * (key === 0 ? 0.12 : 0.75)),
      },
      {
        id: `key-${key}-tokens`,
        unit: 'tokens',
        per: 'month',
        zone: 'Asia/Tokyo',
        amount: count(each * (key === 3 ? 0.1 : 0.7) * MEAN_TOKENS),
      },
      {
        id: account,
        unit: 'credits',
        per: 'total',
        of: 'account',
        amount: credits(each * (key % 2 === 0 ? 0.45 : 1.2)),
      },
      { id: 'app', unit: 'credits', per: 'month', of: 'app', amount: credits(each) },
    ]
    const rate: readonly Limit[] = [
      { id: 'rate', unit: 'requests', per: 'total', of: 'app', amount: count(calls / 10) },
    ]
    callers.set(`token-of-key-${key}`, {
      kind: 'api-key',
      account,
      credentialId: `key-${key}`,
      limits: kind === 'overlap' ? overlapping : rate,
    })
  }
  return callers
}

/** The amount of each bucket's limit. */
export function amountsOf(world: World): ReadonlyMap<string, Limit> {
  const limits = [...callersOf(world).values()].flatMap((caller) => caller.limits ?? [])
  return new Map(limits.map((limit) => [bucketOf(limit), limit]))
}
