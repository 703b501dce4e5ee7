import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { CompatRouter, RouterOptions } from 'compat-router'
import type { LedgerStore } from 'compat-router/stores'
import type { RouterSetup } from './messages.js'
import { MODEL, modelOf, tokenOf, UPSTREAM_MODEL } from './names.js'
import { createRotatingLedger, type RotatingLedger } from './rotating-ledger.js'

const PLENTY = '1000000000'
const HOUR_MS = 3_600_000
/** Keys used by calls have a balance. The others only make look-ups harder. */
const PAYERS = 64

export interface RouterUnderTest {
  readonly router: CompatRouter
  readonly rotating?: RotatingLedger
}

/** A router of the build under test, with everything in memory. */
export async function createRouter(
  setup: RouterSetup,
  options: Pick<RouterOptions, 'basePath' | 'onEvent'>,
): Promise<RouterUnderTest> {
  const built = pathToFileURL(join(setup.dist, 'index.js')).href
  const {
    createCompatRouter,
    memoryCatalogue,
    memoryCredentials,
    memoryLedger,
    memoryProviders,
    openaiCompatible,
  } = (await import(built)) as typeof import('compat-router')
  const models = Array.from({ length: setup.models }, (_, number) => modelOf(number))
  const prices = { input: '0.15', output: '0.60', cachedInput: '0.075', request: '0.0001' }
  const credentials = memoryCredentials()
  for (let number = 0; number < setup.keys; number++) {
    credentials.put(tokenOf(number), { kind: 'api-key', account: `account-${number}` })
  }
  const payers = Array.from({ length: Math.min(PAYERS, setup.keys) }, (_, number) => `account-${number}`)
  const open = () =>
    memoryLedger(Object.fromEntries([...payers, 'holder'].map((account) => [account, PLENTY])))
  const rotating = setup.ledger === 'rotating' ? createRotatingLedger(open) : undefined
  const ledger: LedgerStore = rotating?.ledger ?? open()
  await takeHolds(ledger, setup.openHolds)
  const router = createCompatRouter({
    credentials,
    catalogue: memoryCatalogue(models.map((id) => ({ id, prices, priceVersion: 'bench' }))),
    ledger,
    providers: memoryProviders([
      {
        id: 'upstream',
        models: Object.fromEntries(models.map((id) => [id, UPSTREAM_MODEL])),
        adapter: openaiCompatible({
          baseUrl: `http://127.0.0.1:${setup.upstreamPort}/v1`,
          apiKey: 'sk-upstream-bench',
        }),
      },
    ]),
    ...(setup.fastPaths !== undefined && { fastPaths: setup.fastPaths }),
    ...options,
  })
  return { router, ...(rotating && { rotating }) }
}

async function takeHolds(ledger: LedgerStore, count: number): Promise<void> {
  for (let number = 0; number < count; number++) {
    const requestId = `open-${number}`
    const facts = { requestId, account: 'holder', credentialId: 'holder', model: MODEL }
    await ledger.hold(
      { holdId: requestId, account: 'holder', amount: 1n, ttlMs: HOUR_MS + number, facts },
      { requestId, signal: new AbortController().signal },
    )
  }
}
