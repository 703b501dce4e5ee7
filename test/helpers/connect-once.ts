import { createToken } from '../../src/base/tokens.js'
import type { ConnectStore, Consent } from '../../src/contracts/index.js'

/** An app that users can connect. */
export const NOTES = {
  id: 'notes',
  name: 'Notes',
  markup: { basisPoints: 2_000 },
  allowedModels: ['acme/fast'],
  redirectUris: ['https://notes.example/cb'],
}

const HOUR_MS = 3_600_000

/**
 * Connects the app for an account, from its consent to its first access token, which is returned. The account is also the id
 * of the connection, the request, the code and the refresh token. `terms` replace those of the consent.
 */
export async function connectOnce(
  connect: ConnectStore,
  account: string,
  terms: Pick<Consent, 'cap' | 'capRule'> = {},
): Promise<string> {
  const answer = await connect.consent({
    account,
    appId: NOTES.id,
    scopes: ['models.run'],
    models: NOTES.allowedModels,
    markup: NOTES.markup,
    cap: { amount: 5_000_000_000n, per: 'month' },
    appName: NOTES.name,
    redirectHost: 'notes.example',
    ...terms,
  })
  if (answer === undefined) throw new Error('The consent was refused')
  const expiresAt = Date.now() + HOUR_MS
  await connect.putOauth({ model: 'Interaction', id: account, payload: { account }, expiresAt })
  await connect.addConnection({ id: account, account, appId: NOTES.id })
  const row = { id: account, connectionId: account, payload: { account }, expiresAt }
  await connect.putOauth({ ...row, model: 'AuthorizationCode' })
  const consumed = await connect.consumeOauth('AuthorizationCode', account)
  if (consumed?.first !== true) throw new Error('The code was consumed before')
  await connect.putOauth({ ...row, model: 'RefreshToken' })
  const token = createToken('access-token')
  await connect.saveToken({ token, connectionId: account, scopes: ['models.run'], expiresAt })
  return token
}
