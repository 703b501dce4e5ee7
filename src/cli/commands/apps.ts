import { readFile } from 'node:fs/promises'
import { type Command, Option } from 'commander'
import type { AppRequest, AppRow } from '../../admin/index.js'
import { present } from '../../base/present.js'
import { formatTime, showModels } from '../context/output.js'
import { readPages } from '../context/pages.js'
import { collect, parseInteger } from '../context/parse.js'
import { sayUnknownModels } from '../context/unknown-models.js'
import type { Noun } from './noun.js'

interface AppOptions {
  readonly name?: string
  readonly markup?: number
  readonly flat?: string
  readonly allow?: readonly string[]
  readonly allowAll?: boolean
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

export const apps: Noun = {
  about: 'apps that act for accounts, and their markup',
  verbs: {
    'put <app>': (command, context) =>
      withAppOptions(command.description('register an app, or replace it as a whole')).action(
        async (id: string, options: AppOptions) => {
          const admin = await context.admin()
          await admin.apps.put(toApp(newApp(id), options))
          context.say(`${id} is registered`)
          await sayUnknownModels(context, admin, options.allow)
        },
      ),

    'add <app>': (command, context) =>
      withAppOptions(command.description('register a new app')).action(
        async (id: string, options: AppOptions) => {
          const admin = await context.admin()
          const isNew = await admin.apps.put(toApp(newApp(id), options), { was: null })
          if (!isNew) throw new Error(`There is an app ${id} already: change it with apps edit`)
          context.say(`${id} is registered`)
          await sayUnknownModels(context, admin, options.allow)
        },
      ),

    'edit <app>': (command, context) =>
      withAppOptions(command.description('change what the options name, and keep the rest of an app'))
        .option('--live', 'let everybody connect it')
        .action(async (id: string, options: AppOptions) => {
          const admin = await context.admin()
          const [was] = await admin.apps.list({ appIds: [id] })
          if (was === undefined) throw noApp(id)
          const { logo: _logo, suspendedAt: _suspendedAt, ...before } = was
          const isSame = await admin.apps.put(toApp(before, options), { was })
          if (!isSame) throw new Error(`The app ${id} has changed in the meantime: nothing was saved`)
          context.say(`${id} is changed`)
          await sayUnknownModels(context, admin, options.allow)
        }),

    'put-logo <app> [file]': (command, context) =>
      command
        .description(
          'set the logo from a PNG, JPEG or WebP file of at most 32 KiB and 512 pixels; without one, remove it',
        )
        .action(async (id: string, file?: string) => {
          const logo = file === undefined ? null : await readFile(file)
          requireApp(await (await context.admin()).apps.putLogo(id, logo), id)
          context.say(`${id}: logo ${logo === null ? 'removed' : 'set'}`)
        }),

    'suspend <app>': (command, context) =>
      command.description('refuse all tokens of an app until it is resumed').action(async (id: string) => {
        requireApp(await (await context.admin()).apps.suspend(id), id)
        context.say(`${id}: suspended`)
      }),

    'resume <app>': (command, context) =>
      command.description('accept the tokens of an app again').action(async (id: string) => {
        requireApp(await (await context.admin()).apps.resume(id), id)
        context.say(`${id}: resumed`)
      }),

    'remove <app>': (command, context) =>
      command
        .description('remove an app, and revoke all its tokens; its users have no longer connected it')
        .action(async (id: string) => {
          requireApp(await (await context.admin()).apps.remove(id), id)
          context.say(`${id}: removed`)
        }),

    list: (command, context) =>
      command
        .description('list all apps')
        .option('--owner <account>', 'only the apps that this account may edit')
        .action(async (query: { owner?: string }) => {
          const reader = await context.reader()
          const rows = await readPages(
            (page) => reader.apps.list({ ...query, ...page }),
            ({ id }) => id,
          )
          context.show(rows, rows.map(toAppRow))
        }),
  },
}

function requireApp(known: boolean, id: string): void {
  if (!known) throw noApp(id)
}

function noApp(id: string): Error {
  return new Error(`There is no app ${id}`)
}

function withAppOptions(command: Command): Command {
  return command
    .option('--name <text>', 'a name for people; users of a connected app see it')
    .option('--markup <basis points>', '2000 is 20 %', parseInteger)
    .option('--flat <credits>', 'added to the price of each call')
    .addOption(
      new Option('--allow <model>', 'a model that it may use; repeatable')
        .argParser(collect)
        .conflicts('allowAll'),
    )
    .option('--allow-all', 'it may use all models, later ones too')
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
      ...present({ basisPoints: markup, flat }),
    },
    ...present({
      allowedModels: options.allowAll === true ? ('all' as const) : allow,
      account,
      redirectUris: redirectUri,
      origins: origin,
      site,
      suggestedCap: cap,
      owner,
      testers: tester,
    }),
    ...(isTest && { state: 'test' }),
  }
}

function toAppRow(app: AppRow) {
  return {
    app: app.id,
    name: app.name,
    'markup %': app.markup.basisPoints / 100,
    flat: app.markup.flat,
    models: showModels(app.allowedModels),
    account: app.account,
    redirects: app.redirectUris?.join(' '),
    owner: app.owner,
    state: app.state ?? 'live',
    suspended: formatTime(app.suspendedAt),
  }
}
