import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { CompatRouter } from 'compat-router'
import type { RouterSetup } from './messages.js'
import { MODEL, tokenOf, UPSTREAM_MODEL } from './names.js'

/** The functions of the earlier build that the bench uses, by the names that they had there. */
interface EarlierBuild {
  createCompatRouter(options: object): CompatRouter
  memoryCatalogue(models: readonly object[]): object
  memoryCredentials(keys: object): object
  memoryLedger(accounts: object): object
  memoryProviders(routes: readonly object[]): object
  openaiCompatible(settings: object): object
}

/** A router of the earlier build, set up as `createRouter` sets up today's. */
export async function createBaselineRouter(
  { dist, upstreamPort }: RouterSetup,
  options: { readonly basePath?: string },
): Promise<{ readonly router: CompatRouter }> {
  const build = (await import(pathToFileURL(join(dist, 'index.js')).href)) as EarlierBuild
  const prices = { input: '0.15', output: '0.60', cachedInput: '0.075', request: '0.0001' }
  const baseUrl = `http://127.0.0.1:${upstreamPort}/v1`
  const adapter = build.openaiCompatible({ baseUrl, apiKey: 'sk-upstream-bench' })
  const router = build.createCompatRouter({
    credentials: build.memoryCredentials({ [tokenOf(0)]: { kind: 'api-key', account: 'account-0' } }),
    catalogue: build.memoryCatalogue([{ id: MODEL, prices, priceVersion: 'bench' }]),
    ledger: build.memoryLedger({ 'account-0': '1000000000' }),
    providers: build.memoryProviders([{ id: 'upstream', models: { [MODEL]: UPSTREAM_MODEL }, adapter }]),
    ...options,
  })
  return { router }
}
