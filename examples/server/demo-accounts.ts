import type { Admin, CredentialRow } from 'compat-router/admin'
import type { OfferedModel } from './models.js'

export const demoAccounts = { owner: 'alice', appUser: 'bob', app: 'demo-app' } as const

/** A credential of the example. Only its digest is stored, so `token` is set only when it is issued. */
export interface DemoCredential {
  readonly token?: string
  /** Its first and last characters, to recognise it. */
  readonly hint: string
  readonly isRevoked: boolean
}

export interface DemoCredentials {
  readonly apiKey: DemoCredential
  readonly accessToken: DemoCredential
}

const APP_ID = 'demo-app'
const LABEL = 'example server'

/** Grants the credits, only at the first start, and allows the app the models that are offered now. */
export async function openDemoAccounts(admin: Admin, models: readonly OfferedModel[]): Promise<void> {
  for (const account of [demoAccounts.owner, demoAccounts.appUser]) {
    await admin.accounts.credit({
      account,
      amount: '5',
      reference: `${LABEL}: ${account}`,
      memo: 'To try it out',
    })
  }
  await admin.apps.put({
    id: APP_ID,
    name: 'Demo app',
    markup: { basisPoints: 2_000 },
    allowedModels: models.map((model) => model.id),
    account: demoAccounts.app,
  })
}

/** Issues both at the first start. Later starts find them; if `renew` is true, both get new tokens. */
export async function demoCredentials(admin: Admin, renew: boolean): Promise<DemoCredentials> {
  const { owner, appUser } = demoAccounts

  async function have(
    account: string,
    kind: CredentialRow['kind'],
    issue: () => Promise<{ token: string }>,
  ): Promise<DemoCredential> {
    const rows = await admin.keys.list({ account })
    const ofKind = rows.filter((row) => row.kind === kind && row.label === LABEL)
    const found = ofKind.find((row) => row.revokedAt === undefined) ?? ofKind[0]
    if (found !== undefined && !renew) {
      const { prefix, lastFour, revokedAt } = found
      return { hint: `${prefix}…${lastFour}`, isRevoked: revokedAt !== undefined }
    }
    const isLive = found !== undefined && found.revokedAt === undefined
    const { token } = isLive ? await admin.keys.reissue(found.credentialId) : await issue()
    return { token, hint: token, isRevoked: false }
  }

  return {
    apiKey: await have(owner, 'api-key', () => admin.keys.issue({ account: owner, label: LABEL })),
    accessToken: await have(appUser, 'access-token', () =>
      admin.keys.issueToken({ account: appUser, appId: APP_ID, scopes: ['models.run'], label: LABEL }),
    ),
  }
}
