import { readFile } from 'node:fs/promises'
import type { Command } from 'commander'
import type { AppRequest, AppRow } from '../../admin/index.js'
import { formatTime } from '../session/output.js'
import { readPages } from '../session/pages.js'
import { collect, parseInteger, parseTime } from '../session/parse.js'
import type { CommandContext } from '../session/session.js'

interface AppOptions {
  readonly name?: string
  readonly markup?: number
  readonly flat?: string
  readonly allow?: readonly string[]
  readonly account?: string
  readonly redirectUri?: readonly string[]
  readonly origin?: readonly string[]
  readonly site?: string
  readonly cap?: string
  readonly owner?: string
  readonly tester?: readonly string[]
  readonly test?: boolean
  readonly live?: boolean
}

export function addAppCommands(program: Command, session: CommandContext): void {
  const apps = program.command('apps').description('manage apps that act for accounts, and their markup')
  withAppOptions(apps.command('put <app>').description('register an app, or replace it as a whole')).action(
    async (id: string, options: AppOptions) => {
      await (await session.admin()).apps.put(toApp(newApp(id), options))
      session.say(`${id} is registered`)
    },
  )
  withAppOptions(apps.command('add <app>').description('register a new app')).action(
    async (id: string, options: AppOptions) => {
      const isNew = await (await session.admin()).apps.put(toApp(newApp(id), options), { was: null })
      if (!isNew) throw new Error(`There is an app ${id} already: change it with apps edit`)
      session.say(`${id} is registered`)
    },
  )
  withAppOptions(
    apps.command('edit <app>').description('change what the options name, and keep the rest of an app'),
  )
    .option('--live', 'let everybody connect it')
    .action(async (id: string, options: AppOptions) => {
      const admin = await session.admin()
      const [was] = await admin.apps.list({ appIds: [id] })
      if (was === undefined) throw new Error(`There is no app ${id}`)
      const { logo: _logo, suspendedAt: _suspendedAt, ...before } = was
      const isSame = await admin.apps.put(toApp(before, options), { was })
      if (!isSame) throw new Error(`The app ${id} has changed in the meantime: nothing was saved`)
      session.say(`${id} is changed`)
    })
  apps
    .command('list')
    .description('list all apps')
    .option('--owner <account>', 'only the apps that this account may edit')
    .action(async (query: { owner?: string }) => {
      const reader = await session.reader()
      const rows = await readPages(
        (page) => reader.apps.list({ ...query, ...page }),
        ({ id }) => id,
      )
      session.show(rows, rows.map(toAppRow))
    })
  apps
    .command('logo <app> [file]')
    .description(
      'set the logo from a PNG, JPEG or WebP file of at most 32 KiB and 512 pixels; without one, remove it',
    )
    .action(async (id: string, file?: string) => {
      const logo = file === undefined ? null : await readFile(file)
      const known = await (await session.admin()).apps.putLogo(id, logo)
      if (!known) throw new Error(`There is no app ${id}`)
      session.say(`${id}: logo ${logo === null ? 'removed' : 'set'}`)
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
        const known = name === 'suspend' ? await admin.apps.suspend(id) : await admin.apps.resume(id)
        if (!known) throw new Error(`There is no app ${id}`)
        session.say(`${id}: ${name === 'suspend' ? 'suspended' : 'resumed'}`)
      })
  }
  apps
    .command('remove <app>')
    .description('revoke all grants and tokens of an app, and remove it')
    .action(async (id: string) => {
      const known = await (await session.admin()).apps.remove(id)
      if (!known) throw new Error(`There is no app ${id}`)
      session.say(`${id}: removed`)
    })
  addReviewCommands(apps, session)
}

function addReviewCommands(apps: Command, session: CommandContext): void {
  const review = apps.command('review').description('decide on changes that owners want for their apps')
  review
    .command('list')
    .description('list what waits for review')
    .action(async () => {
      const reader = await session.reader()
      const rows = await readPages(
        (page) => reader.userApps.listReviews(page),
        ({ appId }) => appId,
      )
      session.show(
        rows,
        rows.map(({ appId, by, at, values }) => ({
          app: appId,
          by,
          at: formatTime(at),
          values: JSON.stringify(values),
        })),
        'nothing waits for review',
      )
    })
  for (const decision of ['accept', 'reject'] as const) {
    review
      .command(`${decision} <app>`)
      .description(
        decision === 'accept' ? 'put the values in force' : 'drop the values, and keep those in force',
      )
      .argument('<at>', 'the time of the review that you have seen, as apps review list shows it', parseTime)
      .action(async (id: string, at: number) => {
        const admin = await session.admin()
        const [asked] = await admin.userApps.listReviews({ appIds: [id] })
        if (asked === undefined) throw new Error(`Nothing of the app ${id} waits for review`)
        await admin.userApps.decideReview({ ...asked, at }, decision)
        session.show(asked, [{ app: id, [`${decision}ed`]: JSON.stringify(asked.values) }])
      })
  }
}

function withAppOptions(command: Command): Command {
  return command
    .option('--name <text>', 'a name for people; users of a connected app see it')
    .option('--markup <basis points>', '2000 is 20 %', parseInteger)
    .option('--flat <credits>', 'added to the price of each call')
    .option('--allow <model>', 'a model that it may use; repeatable', collect)
    .option('--account <account>', 'the account that earns the markup; the platform by default')
    .option('--redirect-uri <uri>', 'where users are sent after they connect it; repeatable', collect)
    .option('--origin <origin>', 'of a browser page that may use its tokens; repeatable', collect)
    .option('--site <address>', 'its https address, for users')
    .option('--cap <credits>', 'the cap that users are asked to set')
    .option('--owner <account>', 'the account that may edit it')
    .option('--tester <account>', 'an account that can connect it while it is in test; repeatable', collect)
    .option('--test', 'let only its owner and its testers connect it')
}

function newApp(id: string): AppRequest {
  return { id, markup: { basisPoints: 0 }, allowedModels: [] }
}

/** Returns the app with the values of the options that are given. */
function toApp(app: AppRequest, options: AppOptions): AppRequest {
  const { name, markup, flat, allow, account, redirectUri, origin, site, cap, owner, tester } = options
  const { state, ...rest } = app
  const isTest = options.test === true || (state === 'test' && options.live !== true)
  return {
    ...rest,
    ...(name !== undefined && { name }),
    markup: {
      ...app.markup,
      ...(markup !== undefined && { basisPoints: markup }),
      ...(flat !== undefined && { flat }),
    },
    ...(allow !== undefined && { allowedModels: allow }),
    ...(account !== undefined && { account }),
    ...(redirectUri !== undefined && { redirectUris: redirectUri }),
    ...(origin !== undefined && { origins: origin }),
    ...(site !== undefined && { site }),
    ...(cap !== undefined && { suggestedCap: cap }),
    ...(owner !== undefined && { owner }),
    ...(tester !== undefined && { testers: tester }),
    ...(isTest && { state: 'test' }),
  }
}

function toAppRow(app: AppRow) {
  return {
    app: app.id,
    name: app.name,
    'markup %': app.markup.basisPoints / 100,
    flat: app.markup.flat,
    models: app.allowedModels.join(' '),
    account: app.account,
    redirects: app.redirectUris?.join(' '),
    owner: app.owner,
    state: app.state ?? 'live',
    suspended: formatTime(app.suspendedAt),
  }
}
