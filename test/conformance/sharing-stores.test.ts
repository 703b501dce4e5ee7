import { expect, it } from 'vitest'
import type { CatalogueStore, CredentialStore } from '../../src/contracts/index.js'
import { memoryProviders } from '../../src/memory/index.js'
import { catalogueCases, credentialCases, registryCases } from '../../src/testing/index.js'

async function run<Harness>(
  cases: readonly { id: string; needs: readonly string[]; run(harness: Harness): Promise<void> }[],
  harness: Harness,
): Promise<readonly string[]> {
  const failed: string[] = []
  for (const { id, needs, run } of cases) {
    if (needs.length === 0) await run(harness).catch(() => failed.push(id))
  }
  return failed
}

it('each run of the cases catches a credential store that returns the given principals without a copy', async () => {
  const open = (tokens: object): CredentialStore => {
    const rows = new Map(Object.entries(tokens))
    return {
      resolve: (token) =>
        rows.has(token) ? { ok: true, principal: rows.get(token) } : { ok: false, reason: 'unknown' },
    }
  }
  expect(await run(credentialCases, { open })).toEqual(['credential-copied'])
  expect(await run(credentialCases, { open })).toEqual(['credential-copied'])
})

it('each run of the cases catches a catalogue that returns the given models without a copy', async () => {
  const harness: Parameters<(typeof catalogueCases)[number]['run']>[0] = {
    open: (models): CatalogueStore => ({
      list: () => models,
      get: (id) => models.find((model) => model.id === id),
    }),
  }
  expect(await run(catalogueCases, harness)).toEqual(['catalogue-copied'])
  expect(await run(catalogueCases, harness)).toEqual(['catalogue-copied'])
})

it('the registry cases catch a registry that returns the wrong adapters', async () => {
  const harness: Parameters<(typeof registryCases)[number]['run']>[0] = {
    open: (providers) =>
      memoryProviders(
        providers.map((provider) => ({
          ...provider,
          adapter: { chat: async () => ({ terminated: true }) },
        })),
      ),
  }
  expect(await run(registryCases, harness)).toEqual(['registry-routes'])
})
