import type { Command } from 'commander'
import type { CredentialRow, IssuedCredential, NewLimit } from '../../admin/index.js'
import { present } from '../../base/present.js'
import type { CommandContext } from '../context/context.js'
import { formatTime } from '../context/output.js'
import {
  type AmountPer,
  collect,
  collectAmountsPer,
  collectNamed,
  parseExpiry,
  parseInteger,
} from '../context/parse.js'
import { sayUnknownModels } from '../context/unknown-models.js'
import type { Noun } from './noun.js'

interface IssueOptions {
  readonly label?: string
  readonly expires?: number
  readonly keysPerAccount?: number
  readonly budget?: readonly AmountPer[]
  readonly rate?: readonly AmountPer[]
}

interface KeyOptions extends IssueOptions {
  readonly allow?: string[]
}

interface ReplaceOptions {
  /** Null for never. */
  readonly expires?: number | null
  readonly previousExpires?: number
}

interface ListOptions {
  readonly account?: string
  readonly app?: string
  readonly metadata?: Readonly<Record<string, string>>
}

interface TokenOptions extends IssueOptions {
  readonly scope?: string[]
}

export const keys: Noun = {
  about: 'API keys, whose account pays, and access tokens, with which an app acts for an account',
  verbs: {
    'issue <account>': (command, context) =>
      withBearerOptions(command)
        .description('create an API key; it is shown once')
        .option('--allow <model>', 'a model that it may use, instead of all; repeatable', collect)
        .action(async (account: string, { label, expires, allow, budget, rate, ...bound }: KeyOptions) => {
          const admin = await context.admin(bound)
          const issued = await admin.keys.issue({
            account,
            ...present({ label, expiresAt: expires, allowedModels: allow, limits: limitsOf(budget, rate) }),
          })
          showIssued(context, issued)
          if ((await admin.accounts.find(account)) === undefined)
            context.say(
              `There is no account ${account} yet: calls with this key are refused until it has credit.`,
            )
          await sayUnknownModels(context, admin, allow)
        }),

    'issue-token <account> <app>': (command, context) =>
      withBearerOptions(command)
        .description('create an access token, with which an app acts for an account; it is shown once')
        .option('--scope <scope>', 'repeatable; models.run by default', collect)
        .action(
          async (
            account: string,
            appId: string,
            { scope = ['models.run'], label, expires, budget, rate, ...bound }: TokenOptions,
          ) => {
            const issued = await (await context.admin(bound)).keys.issueToken({
              account,
              appId,
              scopes: scope,
              ...present({ label, expiresAt: expires, limits: limitsOf(budget, rate) }),
            })
            showIssued(context, issued)
          },
        ),

    'reissue <credential>': (command, context) =>
      command
        .description('replace a key or token; the new one is shown once, the old one is revoked')
        .option(
          '--expires <time>',
          'when the new one expires, such as 2027-01-31T12:00Z, or never; as the old one by default',
          (text) => (text === 'never' ? null : parseExpiry(text)),
        )
        .option(
          '--previous-expires <time>',
          'until when the old one works too; it is revoked at once by default',
          parseExpiry,
        )
        .action(async (credentialId: string, { expires, previousExpires }: ReplaceOptions) => {
          const admin = await context.admin()
          const options = present({ expiresAt: expires, previousExpiresAt: previousExpires })
          showIssued(context, await admin.keys.reissue(credentialId, options))
        }),

    'revoke <credential>': (command, context) =>
      command
        .description('refuse a key or token everywhere within a second')
        .action(async (credentialId: string) => {
          const known = await (await context.admin()).keys.revoke(credentialId)
          if (!known) throw new Error(`There is no credential ${credentialId}`)
          context.say(`${credentialId}: revoked`)
        }),

    list: (command, context) =>
      command
        .description('list keys and tokens without their secret part, with their last use and their spend')
        .option('--account <account>', 'only this account')
        .option('--app <app>', 'only this app')
        .option('--metadata <name=value>', 'only those with this metadata; repeatable', collectNamed)
        .action(async ({ account, app, metadata }: ListOptions) => {
          const reader = await context.reader()
          const filters = present({ account, appId: app })
          const rows = await reader.keys.list({ ...filters, ...present({ metadata }) })
          const spend = await reader.reports.spend({ by: 'key', ...filters })
          const costs = new Map(spend.map(({ cost, key }) => [key, cost]))
          const shown = rows.map((row) => ({ ...row, spent: costs.get(row.credentialId) ?? 0n }))
          context.show(shown, shown.map(toCredentialRow))
        }),
  },
}

/** The options that keys and tokens have in common. */
function withBearerOptions(command: Command): Command {
  return command
    .option('--label <text>', 'a name, to tell it from others')
    .option('--expires <time>', 'when it expires, such as 2027-01-31T12:00Z', parseExpiry)
    .option('--budget <credits/period>', 'what it may spend, such as 20/month; repeatable', collectAmountsPer)
    .option(
      '--rate <requests/period>',
      'how many calls it may make, such as 60/minute; repeatable',
      collectAmountsPer,
    )
    .option('--keys-per-account <number>', 'maximum number in use; 100 by default', parseInteger)
}

function limitsOf(
  budgets: readonly AmountPer[] = [],
  rates: readonly AmountPer[] = [],
): readonly NewLimit[] | undefined {
  if (budgets.length + rates.length === 0) return undefined
  return [
    ...budgets.map((budget) => ({ ...budget, unit: 'credits' as const })),
    ...rates.map((rate) => ({ ...rate, unit: 'requests' as const })),
  ]
}

function showIssued(context: CommandContext, issued: IssuedCredential): void {
  context.say('Shown only once: only its digest is stored.')
  context.show(issued, [{ credential: issued.credentialId, token: issued.token }])
}

function toCredentialRow(row: CredentialRow & { readonly spent: bigint }) {
  return {
    credential: row.credentialId,
    kind: row.kind,
    account: row.account,
    app: row.appId,
    label: row.label,
    metadata: row.metadata && JSON.stringify(row.metadata),
    models: row.allowedModels?.join(' '),
    token: `${row.prefix}…${row.lastFour}`,
    used: formatTime(row.lastUsedAt),
    spent: row.spent,
    expires: formatTime(row.expiresAt),
    revoked: formatTime(row.revokedAt),
  }
}
