import { beforeAll, describe, expect, it } from 'vitest'
import { type Admin, createAdmin, type RouteRequest } from '../../src/admin/index.js'
import { openaiCompatible } from '../../src/index.js'
import type { DurableStores } from '../../src/sql/stores.js'
import { engineNames, useEngine } from '../helpers/engines.js'
import { context, createHold, createSettle } from '../helpers/ledger-requests.js'
import { pngOf } from '../helpers/pictures.js'

/** What the rows of the table refer to. */
interface Made {
  readonly keyId: string
  readonly connectedAppId: string
  readonly sessionId: string
  readonly entryId: string
  readonly holdId: string
  readonly review: Awaited<ReturnType<Admin['userApps']['listReviews']>>[number]
  readonly logo: Uint8Array
}

/** A function of administration, such as `keys.issue`. */
type FunctionName = {
  [Group in keyof Admin]: `${Group}.${Extract<keyof Admin[Group], string>}`
}[keyof Admin]

/** The ways to call a function of administration. */
interface Row {
  /** The arguments of a call that succeeds. */
  readonly args: (made: Made) => readonly unknown[]
  /** The fields that select rows, identify a posting or restrict a key. They refuse `undefined` and null, and so does each argument outside of an object. */
  readonly whose?: readonly string[]
  /** The fields that may be `undefined`, as if they were left out. */
  readonly free?: readonly string[]
  /** The lists of keys, which are bounded and keep each key once. */
  readonly keys?: readonly string[]
  /** The places of arguments that may be left out. */
  readonly optional?: readonly number[]
  /** The places of arguments that may be null, to remove something. */
  readonly nullable?: readonly number[]
}

const ALICE = 'alice'
const T = 1_800_000_000_000
const times = { from: T, to: T + 1 }
const model = { id: 'acme/fast', prices: { input: '1', output: '2' } }
const route: RouteRequest = {
  id: 'fast',
  model: 'acme/fast',
  provider: 'openai',
  adapter: 'openai',
  upstreamModel: 'gpt-4o-mini',
  settings: { baseUrl: 'https://api.openai.com/v1' },
}
const notes = { id: 'notes', markup: { basisPoints: 1 }, allowedModels: ['acme/fast'] }
const connectable = { name: 'Notes', redirectUris: ['https://notes.example/cb'] }
const budget = { id: 'l', unit: 'credits', per: 'month', of: 'account', ownerId: ALICE, amount: '5' }
const session = { account: ALICE, origins: ['https://app.example'] }
const sessionRow = {
  args: () => [{ ...session, label: 'x', models: ['acme/fast'], budget: { amount: '1' }, ttlMs: 5_000 }],
  whose: ['account', 'app', 'models', 'budget'],
  free: ['label', 'ttlMs', 'endsAt'],
  keys: ['models'],
}
const spendRow = {
  args: () => [{ by: 'model', account: ALICE, appId: 'notes', credentialIds: ['k'], ...times }],
  whose: ['account', 'appId', 'credentialIds'],
  free: ['from', 'to', 'model'],
}
const accountRow: Row = { args: () => [ALICE] }
const creditRow: Row = {
  args: () => [{ account: ALICE, amount: '1', memo: 'm', reference: 'r' }],
  whose: ['account', 'reference'],
  free: ['memo'],
}
const change = { account: ALICE }

/** In this order, all of these calls succeed. A function without a row fails the first test. */
const rows: Readonly<Record<FunctionName, Row>> = {
  'accounts.open': accountRow,
  'accounts.find': accountRow,
  'accounts.list': {
    optional: [0],
    args: () => [{ accountIds: [ALICE], after: 'a', limit: 5 }],
    whose: ['accountIds'],
    free: ['after', 'limit'],
  },
  'accounts.balance': accountRow,
  'accounts.statement': accountRow,
  'accounts.credit': creditRow,
  'accounts.correct': {
    ...creditRow,
    args: () => [{ account: ALICE, amount: '-1', memo: 'm', reference: 'c' }],
  },
  'entries.refund': {
    args: ({ entryId }) => [entryId, '0.000000001', { memo: 'm', reference: 'refund' }],
    whose: ['reference'],
    free: ['memo'],
    optional: [1, 2],
  },
  'entries.list': {
    optional: [0],
    args: () => [
      {
        account: ALICE,
        payer: ALICE,
        appId: 'notes',
        credentialId: 'k',
        model: 'acme/fast',
        requestId: 'r',
        sessionId: 's',
        reference: 'r',
        payments: true,
        ...times,
        limit: 5,
      },
    ],
    whose: ['account', 'payer', 'appId', 'credentialId'],
    free: ['model', 'requestId', 'sessionId', 'reference', 'payments', 'from', 'to', 'after', 'limit'],
  },
  'calls.list': {
    optional: [0],
    args: () => [
      {
        account: ALICE,
        appId: 'notes',
        credentialId: 'k',
        ids: ['c'],
        model: 'acme/fast',
        requestId: 'r',
        status: 200,
        outcome: 'completed',
        problems: true,
        ...times,
        limit: 5,
      },
    ],
    whose: ['account', 'appId', 'credentialId', 'ids'],
    free: ['model', 'requestId', 'status', 'outcome', 'problems', 'from', 'to', 'after', 'limit'],
  },
  'calls.find': { args: () => ['c', { account: ALICE }], whose: ['account'], optional: [1] },
  'calls.overTime': {
    args: () => [
      {
        times: [0, 1_000],
        by: 'outcome',
        rank: 'failures',
        withLatency: true,
        account: ALICE,
        appId: 'notes',
        credentialId: 'k',
        model: 'acme/fast',
        requestId: 'r',
        status: 200,
        outcome: 'completed',
        problems: true,
      },
    ],
    whose: ['account', 'appId', 'credentialId'],
    free: ['by', 'rank', 'withLatency', 'model', 'requestId', 'status', 'outcome', 'problems'],
  },
  'audit.list': {
    optional: [0],
    args: () => [{ by: 'operator', noun: 'limit', subjectId: 'l', account: ALICE, ...times, limit: 5 }],
    whose: ['by', 'subjectId', 'account'],
    free: ['noun', 'from', 'to', 'after', 'limit'],
  },
  'reports.spend': spendRow,
  'reports.spendReport': {
    ...spendRow,
    args: () => [{ ...spendRow.args()[0], limit: 5, offset: 0, newest: 5 }],
    free: [...spendRow.free, 'limit', 'offset', 'newest'],
  },
  'reports.spendOverTime': {
    args: () => [
      {
        times: [0, 86_400_000],
        by: 'key',
        rank: 'calls',
        account: ALICE,
        appId: 'notes',
        model: 'acme/fast',
      },
    ],
    whose: ['account', 'appId'],
    free: ['by', 'rank', 'model'],
  },
  'maintenance.openHolds': {
    optional: [0],
    args: () => [{ account: ALICE, limit: 5 }],
    whose: ['account'],
    free: ['limit'],
  },
  'maintenance.freeHold': { args: ({ holdId }) => [holdId] },
  'keys.issue': {
    args: () => [
      { account: ALICE, label: 'l', allowedModels: ['acme/fast'], limits: [], metadata: { team: 'x' } },
    ],
    whose: ['account', 'allowedModels', 'limits'],
    free: ['label', 'expiresAt', 'metadata'],
    keys: ['allowedModels'],
  },
  'apps.put': {
    args: () => [
      { ...notes, ...connectable, origins: ['https://notes.example'], account: ALICE, owner: ALICE },
    ],
    whose: ['account', 'owner'],
    free: ['site', 'suggestedCap', 'testers', 'state', 'origins'],
    keys: ['allowedModels'],
  },
  'keys.issueToken': {
    args: () => [{ account: ALICE, appId: 'notes', scopes: ['models.run'] }],
    whose: ['account', 'appId'],
    free: ['label', 'expiresAt', 'metadata'],
    keys: ['scopes'],
  },
  'keys.list': {
    optional: [0],
    args: ({ keyId }) => [
      {
        ...{ account: ALICE, appId: 'notes', credentialId: keyId, credentialIds: [keyId] },
        ...{ metadata: { team: 'x' }, inUse: true, limit: 5 },
      },
    ],
    whose: ['account', 'appId', 'credentialId', 'credentialIds', 'metadata'],
    free: ['inUse', 'after', 'limit'],
  },
  'keys.reissue': {
    args: ({ keyId }) => [keyId, { expiresAt: T }],
    free: ['expiresAt', 'scopes', 'was'],
    optional: [1],
  },
  'sessions.issue': sessionRow,
  'sessions.resume': sessionRow,
  'sessions.refresh': {
    args: ({ sessionId }) => [sessionId, { ttlMs: 5_000 }],
    free: ['ttlMs'],
    optional: [1],
  },
  'sessions.revoke': { args: () => [{ account: ALICE, label: 'x' }], whose: ['account', 'label'] },
  'models.put': {
    args: () => [model, { ifAbsent: true, was: undefined }],
    free: ['ifAbsent', 'was'],
    optional: [1],
  },
  'models.list': { optional: [0], args: () => [{ modelIds: ['acme/fast'] }], free: ['modelIds'] },
  'routes.put': {
    args: () => [
      { ...route, enabled: true },
      { ifAbsent: true, was: undefined },
    ],
    free: ['ifAbsent', 'was', 'enabled'],
    optional: [1],
  },
  'routes.list': {
    optional: [0],
    args: () => [{ model: 'acme/fast', routeIds: ['fast'] }],
    free: ['model', 'routeIds'],
  },
  'routes.fault': { args: () => [{ adapter: 'openai', settings: { baseUrl: 'https://api.openai.com/v1' } }] },
  'routes.faults': { args: () => [] },
  'maintenance.rotateSecrets': { args: () => [] },
  'limits.put': { args: () => [budget], whose: ['ownerId', 'of'], free: ['zone'] },
  'limits.list': {
    optional: [0],
    args: () => [{ of: 'account', ownerId: ALICE, ownerIds: [ALICE], limit: 5 }],
    whose: ['of', 'ownerId', 'ownerIds'],
    free: ['after', 'limit'],
  },
  'limits.remove': { args: () => ['l'] },
  'apps.putLogo': { args: ({ logo }) => ['notes', logo], nullable: [1] },
  'apps.findLogo': { args: () => ['notes', 'a hash'] },
  'apps.suspend': { args: () => ['notes'] },
  'apps.resume': { args: () => ['notes'] },
  'apps.list': {
    optional: [0],
    args: () => [{ appIds: ['notes'], owner: ALICE, limit: 5 }],
    whose: ['appIds', 'owner'],
    free: ['after', 'limit'],
  },
  'apps.listEdits': { args: () => [{ appId: 'notes', limit: 5 }], whose: ['appId'], free: ['limit'] },
  'reports.appFigures': {
    args: () => [{ appId: 'notes', ...times }],
    whose: ['appId'],
    free: ['from', 'to'],
  },
  'userApps.put': {
    args: () => [ALICE, { ...notes, id: 'own', name: 'Own', redirectUris: ['https://own.example/cb'] }],
    free: ['site', 'suggestedCap', 'testers'],
    keys: ['allowedModels'],
  },
  'userApps.putLogo': { args: ({ logo }) => [ALICE, 'own', logo], nullable: [2] },
  'userApps.askForReview': { args: () => [ALICE, 'own'] },
  'userApps.listReviews': {
    optional: [0],
    args: () => [{ appIds: ['own'], limit: 5 }],
    whose: ['appIds'],
    free: ['after', 'limit'],
  },
  'userApps.decideReview': { args: ({ review }) => [review, 'reject'], whose: ['appId', 'by'] },
  'userApps.remove': { args: () => [ALICE, 'own'] },
  'connectedApps.list': {
    optional: [0],
    args: ({ connectedAppId }) => [
      { account: ALICE, appId: 'notes', connectedAppIds: [connectedAppId], inUse: true, limit: 5 },
    ],
    whose: ['account', 'appId', 'connectedAppIds'],
    free: ['inUse', 'after', 'limit'],
  },
  'connectedApps.listHistory': {
    args: ({ connectedAppId }) => [connectedAppId, { account: ALICE, limit: 5 }],
    whose: ['account'],
    free: ['limit'],
    optional: [1],
  },
  'connectedApps.setCap': {
    args: ({ connectedAppId }) => [connectedAppId, { amount: '5', per: 'month', zone: 'UTC' }, change],
    whose: ['account'],
    free: ['zone'],
    optional: [2],
    nullable: [1],
  },
  'connectedApps.removeDevice': {
    args: ({ connectedAppId }) => [connectedAppId, 'a device', change],
    whose: ['account'],
    optional: [2],
  },
  'connectedApps.revoke': {
    args: ({ connectedAppId }) => [connectedAppId, change],
    whose: ['account'],
    optional: [1],
  },
  'keys.revoke': { args: ({ keyId }) => [keyId] },
  'apps.remove': { args: () => ['notes'] },
  'routes.remove': { args: () => ['fast'] },
  'models.remove': { args: () => ['acme/fast'] },
  'accounts.suspend': accountRow,
  'accounts.resume': accountRow,
  'maintenance.verify': { args: () => [] },
  'maintenance.verifyDays': { optional: [0], args: () => [{ since: 1_700_000_000_000 }], free: ['since'] },
  'maintenance.rebuildTotals': { args: () => [] },
  'maintenance.pruneHolds': { args: () => [30] },
}
const names = Object.keys(rows) as FunctionName[]
const invalid = expect.objectContaining({ code: 'invalid_input' })

/** Objects of the host's own making may have any field. */
const HOSTS_OWN = ['metadata', 'settings']

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype
}

/** Returns copies of a value, each with a field that does not exist in one of its objects. */
function withUnknownFields(value: unknown): unknown[] {
  if (!isObject(value)) return []
  return [
    { ...value, nonsense: 1 },
    ...Object.entries(value).flatMap(([name, member]) =>
      HOSTS_OWN.includes(name)
        ? []
        : withUnknownFields(member).map((changed) => ({ ...value, [name]: changed })),
    ),
  ]
}

describe.each(engineNames)('every function of administration on %s', (engineName) => {
  const engine = useEngine(engineName)
  let stores: DurableStores
  let admin: Admin
  let made: Made

  beforeAll(async () => {
    stores = engine.open('functions', { adapters: { openai: openaiCompatible } })
    admin = createAdmin(stores)
    await admin.accounts.credit({ account: ALICE, amount: '5' })
    const [held, settled] = [createHold(ALICE, 10n), createHold(ALICE, 10n)]
    await stores.ledger.hold(held, context)
    await stores.ledger.hold(settled, context)
    await stores.ledger.settle(createSettle(settled.holdId, ALICE, 10n), context)
    const { entries } = await admin.entries.list({ account: ALICE })
    const { credentialId: keyId } = await admin.keys.issue({ account: ALICE })
    await admin.apps.put({ ...notes, ...connectable })
    const terms = { scopes: ['models.run'], models: ['acme/fast'], markup: { basisPoints: 1 } }
    const shown = { appName: 'Notes', redirectHost: 'notes.example' }
    const grant = await stores.connect.consent({ account: ALICE, appId: 'notes', ...terms, ...shown })
    const { credentialId: sessionId } = await admin.sessions.issue(session)
    await admin.userApps.put(ALICE, {
      ...notes,
      id: 'own',
      name: 'Own',
      redirectUris: ['https://own.example/cb'],
    })
    await admin.userApps.askForReview(ALICE, 'own')
    const [review] = await admin.userApps.listReviews()
    made = {
      keyId,
      sessionId,
      connectedAppId: grant!.connectedAppId,
      entryId: entries.find(({ kind }) => kind === 'charge')!.id,
      holdId: held.holdId,
      review: review!,
      logo: pngOf(8, 8),
    }
  })

  /** Also catches what a function throws at once. */
  async function call(name: FunctionName, args: readonly unknown[]): Promise<unknown> {
    const [group, own] = name.split('.') as [keyof Admin, string]
    const functions = admin[group] as unknown as Readonly<
      Record<string, (...given: readonly unknown[]) => unknown>
    >
    return functions[own]!(...args)
  }

  const replaced = (args: readonly unknown[], place: number, value: unknown): unknown[] =>
    args.map((arg, index) => (index === place ? value : arg))

  /** The arguments with another value in a field: of the object that has it or, if none has, of each. */
  function withField(args: readonly unknown[], field: string, value: unknown): unknown[][] {
    const objects = [...args.keys()].filter((place) => isObject(args[place]))
    const having = objects.filter((place) => field in (args[place] as object))
    return (having.length > 0 ? having : objects).map((place) =>
      replaced(args, place, { ...(args[place] as object), [field]: value }),
    )
  }

  it('is covered by a row of the table', () => {
    const all = Object.entries(admin).flatMap(([group, functions]) =>
      Object.keys(functions).map((name) => `${group}.${name}`),
    )
    expect(names.toSorted()).toEqual(all.toSorted())
  })

  it.each(names)('refuses undefined and null if they would mean every account: %s', async (name) => {
    const { args, optional = [], nullable = [], whose = [] } = rows[name]
    const good = args(made)
    for (const place of good.keys()) {
      if (!optional.includes(place)) {
        await expect(call(name, replaced(good, place, undefined)), `${place}`).rejects.toEqual(invalid)
      }
      if (!nullable.includes(place)) {
        await expect(call(name, replaced(good, place, null)), `${place}`).rejects.toEqual(invalid)
      }
    }
    for (const field of whose) {
      for (const value of [undefined, null]) {
        for (const bad of withField(good, field, value)) {
          await expect(call(name, bad), `${field}: ${value}`).rejects.toEqual(invalid)
        }
      }
    }
  })

  it.each(names)('refuses unknown fields: %s', async (name) => {
    const good = rows[name].args(made)
    for (const [place, value] of good.entries()) {
      for (const bad of withUnknownFields(value)) {
        await expect(call(name, replaced(good, place, bad)), JSON.stringify(bad)).rejects.toEqual(invalid)
      }
    }
  })

  it.each(names.filter((name) => rows[name].keys !== undefined))(
    'limits its lists of keys and removes duplicates: %s',
    async (name) => {
      const { args, keys = [] } = rows[name]
      const most = name === 'userApps.put' ? 200 : 2_000
      const many = (count: number, chars = 0) =>
        Array.from({ length: count }, (_, index) => `${index}`.padStart(chars, 'm'))
      for (const field of keys) {
        for (const list of [many(most + 1), many(300, 256)]) {
          for (const bad of withField(args(made), field, list)) {
            await expect(call(name, bad)).rejects.toEqual(invalid)
          }
        }
        const [good] = withField(args(made), field, [...many(most / 2), ...many(most / 2)])
        await call(name, good!)
      }
    },
  )

  it.each(names)('accepts undefined in fields that do not select whose rows are meant: %s', async (name) => {
    const { args, free = [] } = rows[name]
    const [review = made.review] = await admin.userApps.listReviews()
    made = { ...made, review }
    for (const field of free)
      for (const good of withField(args(made), field, undefined)) await call(name, good)
    await call(name, args(made))
  })
})
