import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { HOLD_STATE } from '../../src/sql/hold-states.js'
import type { DurableStores } from '../../src/sql/stores.js'
import { context, createHold, createSettle } from '../helpers/ledger-requests.js'
import { isLong } from '../helpers/long.js'
import { openAccounts } from '../helpers/open-accounts.js'
import { connectTo, createTestDatabase, type TestDatabase } from '../helpers/postgres.js'
import { createTestFile, type TestFile } from '../helpers/sqlite.js'
import { type Change, installAudit, readChanges } from './proof/audit.js'
import { type ProofOptions, type ProofResult, prove } from './proof/proof.js'
import { Replay } from './proof/replay.js'
import { openStores } from './proof/stores.js'
import type { World } from './proof/world.js'

const CALLS = 400
/** A bug shows within fewer calls, of one process, if they meet as they must. Otherwise the next seed is tried. */
const CALLS_WITH_A_BUG = 200
const SEEDS_WITH_A_BUG = [3, 4, 5, 6]
const PATIENCE_MS = 180_000

function expectExact(result: ProofResult): void {
  expect(result.problems).toEqual([])
  expect(result.calls).toBeGreaterThanOrEqual(CALLS)
  expect(result.refusals).toBeGreaterThan(20)
  expect(result.falseRefusals).toBe(0)
}

describe.each(['SQLite', 'PostgreSQL'] as const)('limits in %s, kept by two processes', (engine) => {
  let file: TestFile
  const databases: TestDatabase[] = []
  beforeAll(async () => {
    if (engine === 'SQLite') file = await createTestFile()
  })
  afterAll(async () => {
    file?.remove()
    await Promise.all(databases.map((database) => database.drop()))
  })

  async function worldOf(kind: World['kind']): Promise<World> {
    if (engine === 'SQLite') return { engine, place: `${file.file}-${kind}`, calls: CALLS, kind }
    const database = await createTestDatabase()
    databases.push(database)
    return { engine, place: database.url, calls: CALLS, kind }
  }

  it.runIf(isLong)(
    'are not exceeded, and refuse nothing that fits, through swaps, aborts and kills',
    {
      timeout: PATIENCE_MS,
    },
    async () => {
      const world = await worldOf('overlap')
      const result = await prove({ world, processes: 2, callers: 20, kills: 2, seed: 1, skewMs: 30_000 })
      expectExact(result)
      expect(result.kills).toBe(2)
      expect(Object.keys(result.refusedBy).length).toBeGreaterThan(1)
    },
  )

  it('admit the full number of requests if ten times as many are made', {
    timeout: PATIENCE_MS,
  }, async () => {
    const result = await prove({ world: await worldOf('rate'), processes: 2, callers: 20, kills: 0, seed: 2 })
    expectExact(result)
    expect(result.usedPercent['rate:requests/total']).toBe(100)
  })
})

/** Replaces a part of a function of PostgreSQL's ledger. */
function planted(name: string, part: RegExp, by: string) {
  return async ({ database }: DurableStores): Promise<void> => {
    const [row] = await database.all({
      text: `select pg_catalog.pg_get_functiondef(cast('compat_router.${name}' as regproc)) as definition`,
    })
    const definition = String(row!.definition)
    const changed = definition.replace(part, by)
    if (changed === definition) throw new Error(`${name} has no part ${part}`)
    await database.all({ text: changed })
  }
}

/** Changes the buckets that SQLite's ledger writes. */
function triggered(when: string, set: string) {
  return async ({ database }: DurableStores): Promise<void> => {
    const text = `create trigger planted after update on {limit_buckets} when ${when}
      begin update {limit_buckets} set ${set} where id = new.id; end`
    await database.batch([{ text }])
  }
}

const PASSED = /passed its limit/
const MISCOUNTED = /and its calls/
const FALSE_REFUSAL = /a false refusal/

describe('the proof of limits', () => {
  const databases: TestDatabase[] = []
  let file: TestFile
  let files = 0
  beforeAll(async () => {
    file = await createTestFile()
  })
  afterAll(async () => {
    file.remove()
    await Promise.all(databases.map((database) => database.drop()))
  })

  /** Returns the problems of the first seed that has any. */
  async function problemsOf(
    engine: World['engine'],
    more: Pick<World, 'bug'>,
    plant?: ProofOptions['plant'],
  ): Promise<string> {
    for (const seed of SEEDS_WITH_A_BUG) {
      const problems = await problemsOfSeed(seed, engine, more, plant)
      if (problems !== '') return problems
    }
    return ''
  }

  async function problemsOfSeed(
    seed: number,
    engine: World['engine'],
    more: Pick<World, 'bug'>,
    plant?: ProofOptions['plant'],
  ): Promise<string> {
    let place = `${file.file}-${files++}`
    if (engine === 'PostgreSQL') {
      const database = await createTestDatabase()
      databases.push(database)
      place = database.url
    }
    const world: World = { engine, place, calls: CALLS_WITH_A_BUG, kind: 'overlap', ...more }
    const options = { world, processes: 1, callers: 20, kills: 0, seed }
    const { problems } = await prove(plant === undefined ? options : { ...options, plant })
    return problems.join('\n')
  }

  it.runIf(isLong).each([
    [
      'a limit that is not tested, for holds one by one',
      planted('take_hold_1', /continue when p_amounts\[v_place\] <= v_free or/, 'continue when true or'),
      PASSED,
    ],
    [
      'a limit that is not tested, for groups of holds',
      planted('apply_ledger_1', /where n\.present \+ n\.total > n\.least/, 'where false'),
      PASSED,
    ],
    [
      'a swap that counts a second request',
      planted('take_hold_1', /p_amounts\[v_place\] - v_owns\[v_place\]/, 'p_amounts[v_place]'),
      MISCOUNTED,
    ],
    [
      'a settlement that frees nothing',
      planted('apply_ledger_1', /set held = b\.held - d\.held, used/, 'set held = b.held, used'),
      MISCOUNTED,
    ],
    [
      'a release that frees nothing',
      planted(
        'apply_ledger_1',
        /(returned as [\s\S]*?)b\.starts_at = d\.starts_at/,
        '$1b.starts_at < d.starts_at',
      ),
      MISCOUNTED,
    ],
    [
      'a swap that is tested with the hold that it replaces',
      planted('take_hold_1', /- v_bucket\.held \+ v_own;/, '- v_bucket.held;'),
      FALSE_REFUSAL,
    ],
  ])('finds %s on PostgreSQL', { timeout: PATIENCE_MS }, async (_bug, plant, found) => {
    expect(await problemsOf('PostgreSQL', {}, plant)).toMatch(found)
  })

  it.runIf(isLong).each([
    ['a release that frees nothing', 'new.used = old.used and new.held < old.held', 'held = old.held'],
    ['a settlement that frees nothing', 'new.used > old.used and new.held < old.held', 'held = old.held'],
    ['a charge that does not count', 'new.used > old.used', 'used = old.used'],
  ])('finds %s on SQLite', { timeout: PATIENCE_MS }, async (_bug, when, set) => {
    expect(await problemsOf('SQLite', {}, triggered(when, set))).toMatch(MISCOUNTED)
  })

  it.runIf(isLong).each([
    ['refuses-early', FALSE_REFUSAL],
    ['refuses-late', PASSED],
    ['forgets-use', /has a wrong use/],
  ] as const)('finds a ledger that %s on SQLite', { timeout: PATIENCE_MS }, async (bug, found) => {
    expect(await problemsOf('SQLite', { bug })).toMatch(found)
  })

  it('does not mistake the end of a counted request, amid another transaction, for a change of its bucket', async () => {
    const database = await createTestDatabase()
    databases.push(database)
    const { stores, close } = openStores({
      engine: 'PostgreSQL',
      place: database.url,
      calls: 0,
      kind: 'rate',
    })
    await openAccounts(stores.database, { alice: '1' })
    await installAudit(stores)
    const windows = [[0, 8_640_000_000_000_000]] as const
    const limits = [{ bucket: 'rate', unit: 'requests', limit: 9n, amount: 1n, windows }] as const
    const [first, second] = [createHold('alice', 0n, { limits }), createHold('alice', 0n, { limits })]
    await stores.ledger.hold(first, context)
    // As a batch that takes the second hold: it counts the request, and then writes the hold.
    const batch = await connectTo(database)
    await batch.query(`begin; update compat_router.limit_buckets set used = used + 1 where id = 'rate'`)
    // A settlement does not wait for the bucket: its request is counted already.
    const uses = [{ bucket: 'rate', unit: 'requests', from: 0, used: 1n }] as const
    await stores.ledger.settle(createSettle(first.holdId, 'alice', 0n, { limits: uses }), context)
    await batch.query(
      `insert into compat_router.holds (id, account, amount, state, expires_at, limits)
       values ($1, 'alice', 0, 0, 9999999999999, '[["rate","requests",0,"1"]]')`,
      [second.holdId],
    )
    await batch.query('commit')
    const replay = new Replay(await readChanges(stores))
    await close()
    expect(replay.problems).toEqual([])
    expect(replay.statesOf('rate').map(({ used }) => used)).toEqual([0n, 1n, 2n])
  })

  it('finds a false refusal after the last change of its bucket', () => {
    const plain = { state: undefined, parts: [], isReplaced: false, startsAt: 0n, held: 0n, used: 0n }
    const parts: Change['parts'] = [['budget', 'credits', 0, '8']]
    const changes: readonly Change[] = [
      { ...plain, seq: 1, batch: 1, what: 'hold', id: 'first', parts },
      { ...plain, seq: 2, batch: 1, what: 'bucket', id: 'budget', held: 8n },
      { ...plain, seq: 3, batch: 2, what: 'end', id: 'first', state: HOLD_STATE.released, parts },
      { ...plain, seq: 4, batch: 2, what: 'bucket', id: 'budget' },
      { ...plain, seq: 5, batch: 3, what: 'refusal', id: 'second' },
    ]
    const replay = new Replay(changes)
    expect(replay.problems).toEqual([])
    const refusal = { holdId: 'second', replaces: undefined, bucket: 'budget', amount: '5' }
    expect(replay.isFalse({ ...refusal, limit: '10' })).toBe(true)
    expect(replay.isFalse({ ...refusal, limit: '4' })).toBe(false)
  })
})
