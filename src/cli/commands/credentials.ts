import type { Command } from 'commander'
import type { CredentialRow, IssuedCredential } from '../../admin/index.js'
import { formatTime } from '../session/output.js'
import { collect, parseExpiry, parseInteger } from '../session/parse.js'
import type { Session } from '../session/session.js'

interface IssueOptions {
  readonly label?: string
  readonly expires?: number
  readonly keysPerAccount?: number
}

export function addCredentialCommands(program: Command, session: Session): void {
  const keys = program.command('keys').description('API keys: their account pays')
  keys
    .command('issue <account>')
    .description('make a key; it is shown once')
    .option('--label <text>', 'tells it from the others')
    .option('--expires <time>', 'when it ends, such as 2027-01-31T12:00Z', parseExpiry)
    .option('--keys-per-account <number>', 'how many it may have in use; 100 by default', parseInteger)
    .action(async (account: string, { label, expires, ...bound }: IssueOptions) => {
      const issued = await (await session.admin(bound)).issueKey({
        account,
        ...(label === undefined ? {} : { label }),
        ...(expires === undefined ? {} : { expiresAt: expires }),
      })
      showIssued(session, issued)
    })

  const tokens = program.command('tokens').description('access tokens: an app acts, the account pays')
  tokens
    .command('issue <account> <app>')
    .description('let an app act for an account; the token is shown once')
    .option('--scope <scope>', 'may be given more than once; models.run by default', collect)
    .option('--label <text>', 'tells it from the others')
    .option('--expires <time>', 'when it ends, such as 2027-01-31T12:00Z', parseExpiry)
    .option('--keys-per-account <number>', 'how many it may have in use; 100 by default', parseInteger)
    .action(
      async (
        account: string,
        appId: string,
        { scope = ['models.run'], label, expires, ...bound }: IssueOptions & { scope?: string[] },
      ) => {
        const issued = await (await session.admin(bound)).issueAccessToken({
          account,
          appId,
          scopes: scope,
          ...(label === undefined ? {} : { label }),
          ...(expires === undefined ? {} : { expiresAt: expires }),
        })
        showIssued(session, issued)
      },
    )

  const credentials = program.command('credentials').description('keys and access tokens alike')
  credentials
    .command('list')
    .description('what there is, never the tokens')
    .option('--account <account>', 'only of this payer')
    .option('--app <app>', 'only of this app')
    .action(async ({ account, app }: { account?: string; app?: string }) => {
      const rows = await (await session.reader()).listCredentials({
        ...(account === undefined ? {} : { account }),
        ...(app === undefined ? {} : { appId: app }),
      })
      session.show(rows, rows.map(toCredentialRow))
    })
  credentials
    .command('revoke <credential>')
    .description('refuse it everywhere within a second')
    .action(async (credentialId: string) => {
      const known = await (await session.admin()).revoke(credentialId)
      if (!known) throw new Error(`There is no credential ${credentialId}`)
      session.say(`${credentialId}: revoked`)
    })
  credentials
    .command('reissue <credential>')
    .description('a new token in place of a lost one, which ends; shown once')
    .option('--expires <time>', 'when the new one ends, such as 2027-01-31T12:00Z', parseExpiry)
    .action(async (credentialId: string, { expires }: { expires?: number }) => {
      const admin = await session.admin()
      showIssued(
        session,
        await admin.reissue(credentialId, expires === undefined ? {} : { expiresAt: expires }),
      )
    })
}

function showIssued(session: Session, issued: IssuedCredential): void {
  session.say('Shown once: only its digest is kept.')
  session.show(issued, [{ credential: issued.credentialId, token: issued.token }])
}

function toCredentialRow(row: CredentialRow) {
  return {
    credential: row.credentialId,
    kind: row.kind,
    account: row.account,
    app: row.appId,
    label: row.label,
    token: `${row.prefix}…${row.lastFour}`,
    expires: formatTime(row.expiresAt),
    revoked: formatTime(row.revokedAt),
  }
}
