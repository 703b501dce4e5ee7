/**
 * Sells access to models: sign-up, prepaid credits through Stripe, and keys and connected apps with monthly budgets.
 * Everything is in PostgreSQL, beside the application's own users. It needs Express 5: in Express 4, an async handler that
 * rejects ends the process.
 *
 * Copy this folder, run `npm install` in the copy, and try it with `npm run demo`: stand-ins take the place of OpenAI, Stripe
 * and the database. `npm start` runs it with your own, and names the variables that your `.env` still lacks.
 * Users can connect an app after `DATABASE_URL=postgres://… npx compat-router apps add`.
 */
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { createCompatRouter, openaiCompatible } from 'compat-router'
import { createAdmin } from 'compat-router/admin'
import { createConnect } from 'compat-router/connect'
import { type DurableStores, postgresStores } from 'compat-router/postgres'
import express, { type ErrorRequestHandler, type RequestHandler } from 'express'
import { rateLimit } from 'express-rate-limit'
import pg from 'pg'
import Stripe from 'stripe'
import { createKeysPage } from './keys-page.js'
import { page } from './page.js'
import { readVariables } from './settings.js'
import { createCheckout, createWebhook } from './top-ups.js'
import { postgresUsers, type UserTable } from './user-table.js'
import { accountOf, Users } from './users.js'

const EMAIL_PATTERN = /^[^\s@\p{C}]{1,64}@[^\s@\p{C}]{1,189}$/u

export interface AppSettings {
  readonly stores: DurableStores
  readonly users: UserTable
  readonly stripe: Stripe
  readonly webhookSecret: string
  /** Signs the cookies and forms of Connect. */
  readonly connectSecret: string
  /** The public address, without a path. */
  readonly origin: string
  readonly apiKey: string
  readonly baseUrl?: string
}

export async function createApp(settings: AppSettings) {
  const { apiKey, baseUrl = 'https://api.openai.com/v1', connectSecret, origin } = settings
  const { stores, stripe, webhookSecret } = settings
  const admin = createAdmin(stores)
  // Whatever is edited in the database later stays.
  await admin.models.put({ id: 'acme/fast', prices: { input: '0.15', output: '0.60' } }, { ifAbsent: true })
  await admin.routes.put(
    {
      id: 'openai-fast',
      model: 'acme/fast',
      provider: 'openai',
      adapter: 'openai',
      upstreamModel: 'gpt-4o-mini',
      settings: { baseUrl },
      secret: apiKey,
    },
    { ifAbsent: true },
  )
  const users = new Users(settings.users, origin)
  const connect = createConnect({
    url: `${origin}/connect`,
    router: `${origin}/compat/v1`,
    stores,
    authenticate: (req) => users.signedIn(req),
    signIn: (returnTo) => `/sign-in?to=${encodeURIComponent(returnTo)}`,
    secrets: [connectSecret],
    host: { name: 'Acme', credits: 'dollars' },
    cap: { suggested: '5' },
  })
  const { resourceMetadata } = connect
  const router = createCompatRouter({ stores, resourceMetadata, creditHelp: 'Top up on your keys page.' })

  const app = express()
  // A proxy on this machine says from which address a request comes.
  app.set('trust proxy', 'loopback')
  app.use(connect)
  app.use('/compat/v1', router)
  // A signature covers the bytes as they came.
  app.post('/stripe', express.raw({ type: 'application/json' }), createWebhook(stripe, webhookSecret, admin))
  // A page of another site cannot show ours to lead a click, and no copy of a key or a balance stays behind.
  app.use((_req, res, next) => {
    res.set({ 'cache-control': 'no-store', 'content-security-policy': "frame-ancestors 'none'" })
    next()
  })
  app.use(users.ownPages, express.urlencoded({ extended: false }))

  app.get('/sign-in', (req, res) => {
    res.send(signInPage(targetOf(req.query.to)))
  })
  // Each try costs the time of a derived password, and a sign-up rows.
  const tries = rateLimit({
    windowMs: 15 * 60_000,
    limit: 30,
    standardHeaders: 'draft-8',
    legacyHeaders: false,
    message: 'Too many tries. Try again in a quarter of an hour.',
  })
  const enter =
    (isNew: boolean): RequestHandler =>
    async (req, res) => {
      const { email, password } = (req.body ?? {}) as Record<string, unknown>
      if (
        typeof email !== 'string' ||
        !EMAIL_PATTERN.test(email) ||
        typeof password !== 'string' ||
        (isNew && password.length < 8)
      ) {
        res.status(400).send('An address and a password of at least 8 characters, please.')
        return
      }
      const id = await (isNew ? users.add(email, password) : users.find(email, password))
      if (id === undefined) {
        if (isNew) res.status(409).send('This address has a user already.')
        else res.status(401).send('The address or the password is wrong.')
        return
      }
      // Does nothing if the account exists. At each sign-in, in case the first time failed half-way.
      await admin.accounts.open(accountOf(id))
      await users.signIn(res, id)
      res.redirect(303, targetOf(req.query.to))
    }
  app.post('/sign-up', tries, enter(true))
  app.post('/sign-in', tries, enter(false))
  app.use('/keys', users.required, createKeysPage(admin))
  app.post('/top-up', users.required, createCheckout(stripe, origin))
  // Express would answer with the status and the headers that an error of Stripe has.
  const failed: ErrorRequestHandler = (error, _req, res, _next) => {
    if (error.name === 'Refusal') res.status(409).type('text').send(error.message)
    // A path such as /keys/% is a URIError.
    else if (error.code === 'invalid_input' || error.expose === true || error instanceof URIError)
      res.status(400).send('This cannot be read.')
    else {
      console.error(error)
      res.status(500).send('Something went wrong.')
    }
  }
  app.use(failed)
  return { app, connect, router, stores }
}

/** A path of Connect with its query. Without dots, the path cannot leave `/connect/`. */
const CONNECT_PATTERN = /^\/connect\/[\w/-]+(?:\?|$)/
/** A sign-in goes on only to Connect: otherwise it would send users wherever a link says. */
const targetOf = (to: unknown) => (typeof to === 'string' && CONNECT_PATTERN.test(to) ? to : '/keys')

function signInPage(target: string): string {
  const query = `?to=${encodeURIComponent(target)}`
  return page(
    'Sign in',
    `<section><h1>Sign in</h1><form method="post">
    <label>Address <input name="email" type="email" autocomplete="email" required></label>
    <label>Password <input name="password" type="password" minlength="8" autocomplete="current-password" required></label>
    <button class="yes" formaction="/sign-in${query}">Sign in</button>
    <button formaction="/sign-up${query}">Sign up</button></form></section>`,
  )
}

/** The settings from the environment, and from the file `.env` if there is one. */
async function realSettings(origin: string): Promise<AppSettings> {
  if (existsSync('.env')) process.loadEnvFile()
  const variables = readVariables(process.env)
  const pool = new pg.Pool({ connectionString: variables.DATABASE_URL })
  pool.on('error', (error) => console.error(error))
  return {
    stores: postgresStores(pool, {
      adapters: { openai: openaiCompatible },
      secretKeys: [{ id: '1', key: variables.SECRET_KEY }],
    }),
    users: await postgresUsers(pool),
    stripe: new Stripe(variables.STRIPE_SECRET_KEY),
    webhookSecret: variables.STRIPE_WEBHOOK_SECRET,
    connectSecret: variables.CONNECT_SECRET,
    origin,
    apiKey: variables.OPENAI_API_KEY,
  }
}

async function main(): Promise<void> {
  const { PORT = '3000', ORIGIN = `http://127.0.0.1:${PORT}` } = process.env
  const isDemo = process.argv.includes('--demo')
  const settings = isDemo
    ? await (await import('./demo.js')).demoSettings(ORIGIN)
    : await realSettings(ORIGIN)
  const { app } = await createApp(settings)
  const server = app.listen(Number(PORT), '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  console.log(`Open http://127.0.0.1:${port}/sign-in`)
}

if (process.argv[1] === import.meta.filename) {
  main().catch((error: unknown) => {
    console.error(error instanceof Error ? error.message : error)
    process.exit(1)
  })
}
