import { AssertionError } from 'node:assert'
import { expect, it } from 'vitest'
import type { Model } from '../../src/index.js'
import {
  memoryCalls,
  memoryCatalogue,
  memoryCredentials,
  memoryIdempotency,
  memoryLedger,
  memoryProviders,
} from '../../src/memory/index.js'
import { anthropic } from '../../src/providers/anthropic/index.js'
import {
  ADAPTER_HOST_KEY,
  adapterCases,
  type CatalogueHarness,
  callCases,
  catalogueCases,
  credentialCases,
  idempotencyCases,
  ledgerCases,
  registryCases,
} from '../../src/testing/index.js'

interface Case {
  readonly id: string
  run(harness: { open(given: never): object }): Promise<void>
}

const suites = {
  ledger: [ledgerCases, (given: never) => memoryLedger(given)],
  credentials: [credentialCases, (given: never) => memoryCredentials(given)],
  catalogue: [catalogueCases, (given: never) => memoryCatalogue(given)],
  registry: [registryCases, (given: never) => memoryProviders(given)],
  idempotency: [idempotencyCases, () => memoryIdempotency()],
  calls: [callCases, () => memoryCalls()],
} as unknown as Record<string, readonly [cases: readonly Case[], open: (given: never) => object]>

function caseOf(id: string): readonly [found: Case, open: (given: never) => object] {
  for (const [cases, open] of Object.values(suites)) {
    const found = cases.find((one) => one.id === id)
    if (found !== undefined) return [found, open]
  }
  throw new Error(`There is no case ${id}`)
}

it.each<[method: string, answer: unknown, id: string, kind: string]>([
  ['hold', undefined, 'table-hold-unknown', '{ ok: true }, or { ok: false, reason }; got undefined'],
  ['hold', true, 'table-hold-unknown', '{ ok: true }, or { ok: false, reason }; got true'],
  [
    'settle',
    undefined,
    'table-settle-held',
    '{ repeated, charge, overdraft }, with all of the charge; got undefined',
  ],
  [
    'settle',
    { repeated: false },
    'table-settle-held',
    '{ repeated, charge, overdraft }, with all of the charge; got { repeated: false }',
  ],
  ['release', undefined, 'table-release-held', "{ state }: 'released' or 'settled'; got undefined"],
  [
    'balance',
    null,
    'credit-unknown-account',
    '{ posted, held, available }, or undefined without an account; got null',
  ],
  ['expireHolds', 1, 'expiry-reported', 'an array of the holds that it marked; got 1'],
  ['entries', [], 'entries-zero', '{ entries }, and next if there are more; got []'],
  ['findCall', null, 'find-held', 'a call with its state, or undefined; got null'],
  ['spent', {}, 'spent', '{ balance, total, today, week, month }; got {}'],
  ['limitCounts', {}, 'limit-counts', 'an array with the count of each limit; got {}'],
  ['resolve', null, 'credential-unknown', '{ ok: true, principal }, or { ok: false, reason }; got null'],
  [
    'resolve',
    { ok: true },
    'credential-found',
    '{ ok: true, principal }, or { ok: false, reason }; got { ok: true }',
  ],
  ['list', { data: [] }, 'catalogue-list', 'an array of models; got { data: [] }'],
  ['get', null, 'catalogue-unknown', 'a model, or undefined; got null'],
  ['record', undefined, 'calls-find', 'nothing; got Promise { undefined }'],
  ['find', null, 'calls-find', 'a call or undefined; got null'],
  ['list', [], 'calls-filters', '{ calls, next? }; got []'],
  ['routes', undefined, 'registry-unknown', 'an array of routes, empty if there are none; got undefined'],
  [
    'claim',
    true,
    'idempotency-first',
    "{ state }, and if it is 'done' also the reply with its charge; got true",
  ],
  [
    'claim',
    { state: 'done' },
    'idempotency-done',
    "{ state }, and if it is 'done' also the reply with its charge; got { state: 'done' }",
  ],
])('if %s returns %o, the cases report the expected result', async (method, answer, id, kind) => {
  const [{ run }, open] = caseOf(id)
  const failing = run({ open: (given) => ({ store: { ...open(given), [method]: async () => answer } }) })
  const error = await failing.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  expect(error).toBeInstanceOf(AssertionError)
  expect((error as AssertionError).message).toBe(`${method} must return ${kind}`)
})

it.each(Object.entries(suites))(
  'the %s cases test the store itself if it has a property `store`',
  async (_, [cases, open]) => {
    const around = (given: never) => Object.assign(Object.create(open(given)), { store: {} })
    await cases[0]!.run({ open: around })
  },
)

it.each(Object.entries(suites))('the %s cases report that open returned no store', async (_, [cases]) => {
  for (const given of [undefined, {}, { store: {} }, class {}]) {
    await expect(cases[0]!.run({ open: () => given as never })).rejects.toThrow(
      /^open must return a store with \w+, or { store, … }; got /,
    )
  }
})

it('the cases report that open returned an adapter alone', async () => {
  const open = () => anthropic({ apiKey: ADAPTER_HOST_KEY }) as never
  await expect(adapterCases[0]!.run({ open })).rejects.toThrow(
    /^open must return { adapter, upstreamModel, requests, firstRequest, sentBytes, close }; got /,
  )
})

it('the cases report a watch that does not return a function', async () => {
  const { run } = catalogueCases.find(({ id }) => id === 'catalogue-watch')!
  const open: CatalogueHarness['open'] = (models) => {
    const { put, remove, ...inner } = memoryCatalogue(models)
    return { store: { ...inner, watch: () => undefined as never }, put, remove }
  }
  await expect(run({ open })).rejects.toThrow('watch must return a function that ends it; got undefined')
})

it.each(['contextLength', 'mediaTokens', 'promptOverhead', 'dimensions'] as const)(
  'the cases catch a catalogue whose put keeps the old %s if the new model has none',
  async (column) => {
    const { run } = catalogueCases.find(({ id }) => id === 'catalogue-put')!
    const open: CatalogueHarness['open'] = (models) => {
      const store = memoryCatalogue(models)
      const put: typeof store.put = (model) => {
        const kept = store.get(model.id)?.[column]
        store.put({ ...(kept === undefined ? {} : { [column]: kept }), ...model })
      }
      return { store, put, remove: store.remove }
    }
    await expect(run({ open })).rejects.toThrow(column)
  },
)

it.each(['contextLength', 'maxOutputTokens', 'mediaTokens', 'promptOverhead', 'dimensions', 'operations'])(
  'the cases catch a catalogue that has no column for %s',
  async (column) => {
    const open: CatalogueHarness['open'] = (models) => {
      const rows = models.map((model) => ({ ...model, [column]: null }))
      return { list: () => rows, get: (id) => rows.find((row) => row.id === id) }
    }
    for (const id of ['catalogue-get', 'catalogue-list']) {
      const { run } = catalogueCases.find((one) => one.id === id)!
      await expect(run({ open }), id).rejects.toThrow(column)
    }
  },
)

it('the cases catch a catalogue that drops a promptOverhead of 0', async () => {
  const { run } = catalogueCases.find(({ id }) => id === 'catalogue-get')!
  const open: CatalogueHarness['open'] = (models) => {
    const { get, list } = memoryCatalogue(models)
    const readRow = (model: Model): Model => ({ ...model, promptOverhead: model.promptOverhead || undefined })
    return {
      list: () => list().map(readRow),
      get(id) {
        const model = get(id)
        return model && readRow(model)
      },
    }
  }
  await expect(run({ open })).rejects.toThrow('promptOverhead: 0')
})

it('the cases show a bigint in a model that fails', async () => {
  const { run } = catalogueCases.find(({ id }) => id === 'catalogue-get')!
  const open: CatalogueHarness['open'] = (models) => {
    const store = memoryCatalogue(models)
    return { ...store, get: async (id) => ({ ...(await store.get(id))!, created: 0n as never }) }
  }
  await expect(run({ open })).rejects.toThrow(/created: '0n'/)
})

it('the cases accept a catalogue that returns null for absent fields', async () => {
  const columns = [
    'name',
    'contextLength',
    'maxOutputTokens',
    'mediaTokens',
    'promptOverhead',
    'dimensions',
    'dimensions',
    'supportedParameters',
    'operations',
    'prices',
    'parent',
  ]
  const nulls = Object.fromEntries(columns.map((column) => [column, null]))
  const open: CatalogueHarness['open'] = (models) => {
    const rows = models.map((model) => JSON.stringify({ ...nulls, ...model }))
    const list = () => rows.map((row) => JSON.parse(row))
    return { list, get: (id) => list().find((model) => model.id === id) }
  }
  for (const { needs, run } of catalogueCases) if (needs.length === 0) await run({ open })
})

it('the cases accept a registry that returns null for absent settings', async () => {
  const { run } = registryCases.find(({ id }) => id === 'registry-settings')!
  const nulls = { byok: null, secret: null, prices: null, onDisconnect: null } as object
  await run({
    open(providers) {
      const { routes } = memoryProviders(providers)
      return {
        routes: async (...asked) => (await routes(...asked)).map((route) => ({ ...nulls, ...route })),
      }
    },
  })
})
