import { randomBytes } from 'node:crypto'
import type { Command } from 'commander'
import type { CredentialRow, IssuedCredential } from '../../admin/index.js'
import { formatTime } from '../session/output.js'
import { collect, parseExpiry, parseInteger } from '../session/parse.js'
import type { CommandContext } from '../session/session.js'

interface IssueOptions {
  readonly label?: string
  readonly expires?: number
  readonly keysPerAccount?: number
}

interface KeyOptions extends IssueOptions {
  readonly allow?: string[]
}

export function addCredentialCommands(program: Command, session: CommandContext): void {
  const keys = program.command('keys').description('manage API keys; their account pays')
  keys
    .command('issue <account>')
    .description('create a key; it is shown once')
    .option('--label <text>', 'a name, to tell it from others')
    .option('--expires <time>', 'when it expires, such as 2027-01-31T12:00Z', parseExpiry)
    .option('--allow <model>', 'a model that it may use, instead of all; repeatable', collect)
    .option('--keys-per-account <number>', 'maximum number in use; 100 by default', parseInteger)
    .action(async (account: string, { label, expires, allow, ...bound }: KeyOptions) => {
      const issued = await (await session.admin(bound)).keys.issue({
        account,
        ...(label !== undefined && { label }),
        ...(expires !== undefined && { expiresAt: expires }),
        ...(allow !== undefined && { allowedModels: allow }),
      })
      showIssued(session, issued)
    })

  keys
    .command('generate-secret')
    .description('print a new key of 32 random bytes for the secretKeys of your stores')
    .action(() => session.write(randomBytes(32).toString('hex')))

  const tokens = program
    .command('tokens')
    .description('manage access tokens; an app acts for an account, which pays')
  tokens
    .command('issue <account> <app>')
    .description('let an app act for an account; the token is shown once')
    .option('--scope <scope>', 'repeatable; models.run by default', collect)
    .option('--label <text>', 'a name, to tell it from others')
    .option('--expires <time>', 'when it expires, such as 2027-01-31T12:00Z', parseExpiry)
    .option('--keys-per-account <number>', 'maximum number in use; 100 by default', parseInteger)
    .action(
      async (
        account: string,
        appId: string,
        { scope = ['models.run'], label, expires, ...bound }: IssueOptions & { scope?: string[] },
      ) => {
        const issued = await (await session.admin(bound)).keys.issueToken({
          account,
          appId,
          scopes: scope,
          ...(label !== undefined && { label }),
          ...(expires !== undefined && { expiresAt: expires }),
        })
        showIssued(session, issued)
      },
    )

  const credentials = program
    .command('credentials')
    .description('list, revoke or reissue keys and access tokens')
  credentials
    .command('list')
    .description('list credentials without their tokens, with their last use and their spend')
    .option('--account <account>', 'only this account')
    .option('--app <app>', 'only this app')
    .action(async ({ account, app }: { account?: string; app?: string }) => {
      const reader = await session.reader()
      const filters = {
        ...(account !== undefined && { account }),
        ...(app !== undefined && { appId: app }),
      }
      const rows = await reader.keys.list(filters)
      const spend = await reader.reports.spend({ by: 'key', ...filters })
      const costs = new Map(spend.map(({ cost, key }) => [key, cost]))
      const shown = rows.map((row) => ({ ...row, spent: costs.get(row.credentialId) ?? 0n }))
      session.show(shown, shown.map(toCredentialRow))
    })
  credentials
    .command('revoke <credential>')
    .description('refuse a credential everywhere within a second')
    .action(async (credentialId: string) => {
      const known = await (await session.admin()).keys.revoke(credentialId)
      if (!known) throw new Error(`There is no credential ${credentialId}`)
      session.say(`${credentialId}: revoked`)
    })
  credentials
    .command('reissue <credential>')
    .description('replace a lost token; the new one is shown once, the old one is revoked')
    .option('--expires <time>', 'when the new one expires, such as 2027-01-31T12:00Z', parseExpiry)
    .action(async (credentialId: string, { expires }: { expires?: number }) => {
      const admin = await session.admin()
      showIssued(
        session,
        await admin.keys.reissue(credentialId, expires === undefined ? {} : { expiresAt: expires }),
      )
    })
}

function showIssued(session: CommandContext, issued: IssuedCredential): void {
  session.say('Shown only once: only its digest is stored.')
  session.show(issued, [{ credential: issued.credentialId, token: issued.token }])
}

function toCredentialRow(row: CredentialRow & { readonly spent: bigint }) {
  return {
    credential: row.credentialId,
    kind: row.kind,
    account: row.account,
    app: row.appId,
    label: row.label,
    models: row.allowedModels?.join(' '),
    token: `${row.prefix}…${row.lastFour}`,
    used: formatTime(row.lastUsedAt),
    spent: row.spent,
    expires: formatTime(row.expiresAt),
    revoked: formatTime(row.revokedAt),
  }
}
