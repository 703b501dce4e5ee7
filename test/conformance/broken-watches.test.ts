import { expect, it } from 'vitest'
import type { Watch } from '../../src/contracts/index.js'
import { memoryCatalogue, memoryCredentials } from '../../src/memory/index.js'
import { catalogueCases, credentialCases } from '../../src/testing/index.js'

/** Runs both cases about watches on memory stores with a changed watch. */
function runWith(change: (watch: Watch) => Watch): readonly Promise<void>[] {
  const credentials = credentialCases.find(({ id }) => id === 'credential-watch')!
  const catalogue = catalogueCases.find(({ id }) => id === 'catalogue-watch')!
  return [
    credentials.run({
      open(tokens) {
        const inner = memoryCredentials(tokens)
        return { store: { resolve: inner.resolve, watch: change(inner.watch) }, revoke: inner.revoke }
      },
    }),
    catalogue.run({
      open(models) {
        const inner = memoryCatalogue(models)
        return { store: { ...inner, watch: change(inner.watch) }, put: inner.put, remove: inner.remove }
      },
    }),
  ]
}

it('the watch cases accept a watch that reports and ends', async () => {
  await Promise.all(runWith((watch) => watch))
})

it('the watch cases catch a watch that continues after its end', async () => {
  for (const run of runWith((watch) => (changed) => {
    watch(changed)
    return () => undefined
  })) {
    await expect(run).rejects.toThrow('an ended watch reported another change')
  }
})

it('the watch cases catch a watch that reports the wrong id', async () => {
  const runs = runWith((watch) => (changed) => watch(() => changed('another')))
  await expect(runs[0]).rejects.toThrow('the watch must report key-1 or everything; got another')
  await expect(runs[1]).rejects.toThrow('the watch must report solo or everything; got another')
})

it('the watch cases fail after a timeout if a watch reports nothing', async () => {
  const results = await Promise.allSettled(runWith(() => () => () => undefined))
  for (const result of results) {
    expect(String((result as PromiseRejectedResult).reason)).toContain(
      'the watch did not report the change within ten seconds',
    )
  }
})
