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
  const apps = program
    .command('apps')
    .description('apps that act for accounts, and what they add to the price')
  apps
    .command('put <app>')
    .description('register an app, or replace it: what is left out is not kept')
    .option('--name <text>', 'for people')
    .option('--markup <basis points>', '2000 is 20 %', parseInteger, 0)
    .option('--flat <credits>', 'added to each call')
    .option('--allow <model>', 'a model that it may use; may be given more than once', collect)
    .option('--account <account>', 'earns the markup; the platform by default')
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
    .description('all apps')
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
      .description(name === 'suspend' ? 'refuse all its tokens until resumed' : 'accept its tokens again')
      .action(async (id: string) => {
        const admin = await session.admin()
        const known = name === 'suspend' ? await admin.suspendApp(id) : await admin.resumeApp(id)
        if (!known) throw new Error(`There is no app ${id}`)
        session.say(`${id}: ${name === 'suspend' ? 'suspended' : 'resumed'}`)
      })
  }
}
