import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { DurableStores } from '../../src/sql/stores.js'
import { createTestDatabase, type TestDatabase } from '../helpers/postgres.js'
import { createTestFile, type TestFile } from '../helpers/sqlite.js'
import { type ProofResult, prove } from './proof/proof.js'
import type { World } from './proof/world.js'

const CALLS = 400
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

  it('are not exceeded, and refuse nothing that fits, through swaps, aborts and kills', {
    timeout: PATIENCE_MS,
  }, async () => {
    const world = await worldOf('overlap')
    const result = await prove({ world, processes: 2, callers: 20, kills: 2, seed: 1, skewMs: 30_000 })
    expectExact(result)
    expect(result.kills).toBe(2)
  })

  it('admit all requests of a limit that ten times as many ask for', { timeout: PATIENCE_MS }, async () => {
    const result = await prove({ world: await worldOf('rate'), processes: 2, callers: 20, kills: 0, seed: 2 })
    expectExact(result)
    expect(result.usedPercent['rate:requests/total']).toBe(100)
  })
})

/** Replaces a part of a function of the ledger. */
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

describe('the proof', () => {
  const databases: TestDatabase[] = []
  afterAll(() => Promise.all(databases.map((database) => database.drop())))

  it.each([
    [
      'a limit that is not tested',
      'is one by one',
      planted('take_hold_2', /continue when p_amounts\[v_place\] <= v_free or/, 'continue when true or'),
      /passed its limit/,
    ],
    [
      'a group of holds whose limit is not tested',
      'in groups',
      planted('apply_ledger_3', /where n\.present \+ n\.total > n\.least/, 'where false'),
      /passed its limit/,
    ],
    [
      'a swap that counts a second request',
      'in swaps',
      planted('take_hold_2', /p_amounts\[v_place\] - v_owns\[v_place\]/, 'p_amounts[v_place]'),
      /used/,
    ],
    [
      'a settlement that frees nothing',
      'at the end',
      planted('apply_ledger_3', /set held = b\.held - d\.held, used/, 'set held = b.held, used'),
      /holds/,
    ],
    [
      'a release of another period',
      'at the end',
      planted(
        'apply_ledger_3',
        /(returned as [\s\S]*?)b\.starts_at = d\.starts_at/,
        '$1b.starts_at < d.starts_at',
      ),
      /holds/,
    ],
    [
      'a swap that is tested with the hold that it replaces',
      'in swaps',
      planted('take_hold_2', /- v_bucket\.held \+ v_own;/, '- v_bucket.held;'),
      /false refusal/,
    ],
  ])('finds %s', { timeout: PATIENCE_MS }, async (_bug, _where, plant, found) => {
    const database = await createTestDatabase()
    databases.push(database)
    const world: World = { engine: 'PostgreSQL', place: database.url, calls: CALLS, kind: 'overlap' }
    const result = await prove({ world, processes: 2, callers: 20, kills: 0, seed: 3, plant })
    expect(result.problems.join('\n')).toMatch(found)
  })
})
