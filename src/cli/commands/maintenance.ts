import { randomBytes } from 'node:crypto'
import type { Discrepancy, OpenHoldsQuery } from '../../admin/index.js'
import { present } from '../../base/present.js'
import { formatTime } from '../context/output.js'
import { parseInteger, parseTime } from '../context/parse.js'
import type { Noun } from './noun.js'

export const maintenance: Noun = {
  about: 'the schema, the books, open holds and secrets',
  verbs: {
    migrate: (command, context) =>
      command
        .description('bring the schema up to date; the stores do this themselves if they are allowed to')
        .action(async () => {
          const { where } = await context.database()
          context.say(`${where} is up to date`)
        }),

    verify: (command, context) =>
      command
        .description('compare balances, holds and entries with all postings; exits with 1 if any differ')
        .option('--new', 'only the days that are over and were not verified yet, then balances and holds')
        .option('--since <day>', 'as --new, but from this day on, such as 2026-01-31', parseTime)
        .action(async (query: { new?: true; since?: number }) => {
          const { maintenance } = await context.reader()
          let found: readonly Discrepancy[]
          if (query.new || query.since !== undefined) {
            const verified = await maintenance.verifyDays(present({ since: query.since }))
            found = verified.discrepancies
            const days = verified.days === 1 ? '1 day' : `${verified.days} days`
            context.say(
              `${days} verified: the days before ${new Date(verified.until).toISOString().slice(0, 10)} are sound`,
            )
          } else found = await maintenance.verify()
          context.show(
            found,
            found.map(({ message: _, ...row }) => row),
            'The books are sound: every balance, hold and charge adds up.',
          )
          for (const { message } of found) context.say(message)
          if (found.length > 0) {
            const count = found.length === 1 ? '1 difference' : `${found.length} differences`
            throw new Error(`The books do not add up: ${count}`)
          }
        }),

    'rebuild-totals': (command, context) =>
      command
        .description('add up all entries again for the totals that reports read, if verify finds them wrong')
        .action(async () => {
          await (await context.admin()).maintenance.rebuildTotals()
          context.say('The totals are those of all entries.')
        }),

    'open-holds': (command, context) =>
      command
        .description('list the credit that is reserved for calls in flight, the latest to expire first')
        .option('--account <account>', 'only this account')
        .option('--limit <rows>', 'maximum number of rows, up to 1000', parseInteger, 100)
        .action(async (query: OpenHoldsQuery) => {
          const rows = await (await context.reader()).maintenance.openHolds(query)
          context.show(
            rows,
            rows.map(({ account, amount, expiresAt, facts, holdId }) => ({
              hold: holdId,
              account,
              amount,
              model: facts?.model,
              expires: formatTime(expiresAt),
            })),
          )
        }),

    'free-hold <hold>': (command, context) =>
      command
        .description(
          'release a hold and its Idempotency-Key; if its call still runs, it is charged all the same',
        )
        .action(async (holdId: string) => {
          await (await context.admin()).maintenance.freeHold(holdId)
          context.say(`${holdId}: free`)
        }),

    'prune-holds': (command, context) =>
      command
        .description('delete holds that ended long ago; entries stay')
        .option('--days <days>', 'at least 30', parseInteger, 90)
        .action(async ({ days }: { days: number }) => {
          const count = await (await context.admin()).maintenance.pruneHolds(days)
          context.say(`${count === 1 ? '1 hold' : `${count} holds`} deleted`)
        }),

    'generate-secret': (command, context) =>
      command
        .description('print 32 random bytes, for the secretKeys of your stores or the secret of Connect')
        .action(() => context.write(randomBytes(32).toString('hex'))),

    'rotate-secrets': (command, context) =>
      command
        .description('seal the secrets of all routes again under the first key of COMPAT_ROUTER_SECRET_KEYS')
        .action(async () => {
          const count = await (await context.admin()).maintenance.rotateSecrets()
          context.say(`${count === 1 ? '1 secret' : `${count} secrets`} sealed again`)
        }),
  },
}
