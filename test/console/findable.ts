import type { Admin } from 'compat-router/admin'
import type { DurableStores } from 'compat-router/sqlite'
import { vi } from 'vitest'
import { context, createFacts, createHold, createSettle } from '../helpers/ledger-requests.js'

/** The texts by which an account's things are found: one for each kind of thing and of text. */
export interface Findable {
  readonly account: string
  readonly key: string
  readonly label: string
  readonly page: string
  readonly connected: string
  readonly app: string
  readonly hold: string
  readonly settled: string
  readonly released: string
  readonly entry: string
  readonly reference: string
  readonly session: string
  readonly reply: string
  readonly request: string
}

/** Makes one thing of each kind for an account. */
export async function makeFindable(
  { admin, stores }: { readonly admin: Admin; readonly stores: DurableStores },
  account: string,
): Promise<Findable> {
  await admin.accounts.credit({ account, amount: '5', reference: `invoice-${account}` })
  const { credentialId } = await admin.keys.issue({ account, label: `Laptop of ${account}` })
  const page = await admin.sessions.issue({ account, origins: ['https://app.example'] })
  await admin.userApps.put(account, {
    id: `app-${account}`,
    name: `Scribbles ${account}`,
    redirectUris: ['https://notes.example/cb'],
    markup: { basisPoints: 1 },
    allowedModels: [],
  })
  const connected = await stores.connect.consent({
    account,
    appId: `app-${account}`,
    appName: 'Scribbles',
    redirectHost: 'notes.example',
    scopes: ['models.run'],
    models: [],
    markup: { basisPoints: 1 },
  })
  const [open, settled, released] = [1n, 2n, 3n].map((amount) => createHold(account, amount))
  for (const hold of [open!, settled!, released!]) await stores.ledger.hold(hold, context)
  await stores.ledger.release({ holdId: released!.holdId, account }, context)
  const reply = `chatcmpl-${account}`
  const requestId = `request-${account}`
  const facts = createFacts(account, {
    credentialId,
    requestId,
    sessionId: `talk-${account}`,
    completionId: reply,
  })
  await stores.ledger.settle(createSettle(settled!.holdId, account, 2n, { facts }), context)
  const [entry] = (await admin.entries.list({ payer: account })).entries
  stores.calls.record({
    id: reply,
    requestId,
    at: Date.now(),
    operation: 'chat',
    status: 200,
    outcome: 'completed',
    durationMs: 1,
    facts,
  })
  const isKept = async () => (await admin.calls.list({ ids: [reply] })).calls.length === 1
  await vi.waitUntil(isKept, { interval: 20, timeout: 60_000 })
  return {
    account,
    key: credentialId,
    label: `laptop OF ${account}`,
    page: page.credentialId,
    connected: connected!.connectedAppId,
    app: `app-${account}`,
    hold: open!.holdId,
    settled: settled!.holdId,
    released: released!.holdId,
    entry: entry!.id,
    reference: `invoice-${account}`,
    session: `talk-${account}`,
    reply,
    request: requestId,
  }
}
