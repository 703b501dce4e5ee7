import type { Command } from 'commander'
import { formatTime } from '../session/output.js'
import { collect, parseInteger } from '../session/parse.js'
import type { Session } from '../session/session.js'

interface AppOptions {
  readonly name?: string
  readonly markup: number
  readonly flat?: string
  readonly allow?: string[]
  readonly account?: string
}

export function addAppCommands(program: Command, session: Session): void {
  const apps = program.command('apps').description('manage apps that act for accounts, and their markup')
  apps
    .command('put <app>')
    .description('register an app, or replace it as a whole')
    .option('--name <text>', 'a name for people')
    .option('--markup <basis points>', '2000 is 20 %', parseInteger, 0)
    .option('--flat <credits>', 'added to the price of each call')
    .option('--allow <model>', 'a model that it may use; repeatable', collect)
    .option('--account <account>', 'the account that earns the markup; the platform by default')
    .action(async (id: string, { name, markup, flat, allow = [], account }: AppOptions) => {
      await (await session.admin()).putApp({
        id,
        markup: { basisPoints: markup, ...(flat === undefined ? {} : { flat }) },
        allowedModels: allow,
        ...(name === undefined ? {} : { name }),
        ...(account === undefined ? {} : { account }),
      })
      session.say(`${id} is registered`)
    })
  apps
    .command('list')
    .description('list all apps')
    .action(async () => {
      const rows = await (await session.reader()).listApps()
      session.show(
        rows,
        rows.map((app) => ({
          app: app.id,
          name: app.name,
          'markup %': app.markup.basisPoints / 100,
          flat: app.markup.flat,
          models: app.allowedModels.join(' '),
          account: app.account,
          suspended: formatTime(app.suspendedAt),
        })),
      )
    })
  for (const name of ['suspend', 'resume'] as const) {
    apps
      .command(`${name} <app>`)
      .description(
        name === 'suspend'
          ? 'refuse all tokens of an app until it is resumed'
          : 'accept the tokens of an app again',
      )
      .action(async (id: string) => {
        const admin = await session.admin()
        const known = name === 'suspend' ? await admin.suspendApp(id) : await admin.resumeApp(id)
        if (!known) throw new Error(`There is no app ${id}`)
        session.say(`${id}: ${name === 'suspend' ? 'suspended' : 'resumed'}`)
      })
  }
}
