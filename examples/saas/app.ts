/**
 * Sells access to models: sign-up, prepaid credits through Stripe, and keys and connected apps with monthly budgets.
 * Everything is in PostgreSQL, beside the application's own users. It needs Express 5: in Express 4, an async handler that
 * rejects ends the process.
 *
 * Make a `SECRET_KEY` and a `CONNECT_SECRET` once, each with `npx compat-router maintenance generate-secret`. Run it with
 * `DATABASE_URL=postgres://… SECRET_KEY=… CONNECT_SECRET=… OPENAI_API_KEY=sk-… STRIPE_SECRET_KEY=sk_test_…
 * STRIPE_WEBHOOK_SECRET=whsec_… npx tsx examples/saas/app.ts`, and `stripe listen --forward-to localhost:3000/stripe`.
 * Users can connect an app after `DATABASE_URL=postgres://… npx compat-router apps add`.
 */
import type { AddressInfo } from 'node:net'
import { createCompatRouter, openaiCompatible } from 'compat-router'
import { createAdmin } from 'compat-router/admin'
import { createConnect } from 'compat-router/connect'
import { postgresStores } from 'compat-router/postgres'
import express, { type ErrorRequestHandler, type RequestHandler } from 'express'
import { rateLimit } from 'express-rate-limit'
import pg from 'pg'
import Stripe from 'stripe'
import { createKeysPage } from './keys-page.js'
import { createCheckout, createWebhook } from './top-ups.js'
import { accountOf, Users } from './users.js'

const EMAIL_PATTERN = /^[^\s@\p{C}]{1,64}@[^\s@\p{C}]{1,189}$/u

export interface AppSettings {
  readonly pool: pg.Pool
  readonly stripe: Stripe
  readonly webhookSecret: string
  /** Encrypts the provider's key in the database. 32 bytes as hex. */
  readonly secretKey: string
  /** Signs the cookies and forms of Connect. */
  readonly connectSecret: string
  /** The public address, without a path. */
  readonly origin: string
  readonly apiKey: string
  readonly baseUrl?: string
}

export async function createApp(settings: AppSettings) {
  const { apiKey, baseUrl = 'https://api.openai.com/v1', connectSecret, origin } = settings
  const { pool, secretKey, stripe, webhookSecret } = settings
  const stores = postgresStores(pool, {
    adapters: { openai: openaiCompatible },
    secretKeys: [{ id: '1', key: secretKey }],
  })
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
  const users = new Users(pool, origin)
  await users.migrate()
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
  return `<!doctype html><title>Sign in</title><form method="post">
    <input name="email" type="email" required><input name="password" type="password" minlength="8" required>
    <button formaction="/sign-in${query}">Sign in</button>
    <button formaction="/sign-up${query}">Sign up</button></form>`
}

if (process.argv[1] === import.meta.filename) {
  const set = (name: string): string => {
    const value = process.env[name]
    if (!value) throw new Error(`Set ${name}, as the first lines of this file show`)
    return value
  }
  const { PORT = '3000', ORIGIN = `http://127.0.0.1:${PORT}` } = process.env
  const pool = new pg.Pool({ connectionString: set('DATABASE_URL') })
  pool.on('error', (error) => console.error(error))
  const { app } = await createApp({
    pool,
    stripe: new Stripe(set('STRIPE_SECRET_KEY')),
    webhookSecret: set('STRIPE_WEBHOOK_SECRET'),
    secretKey: set('SECRET_KEY'),
    connectSecret: set('CONNECT_SECRET'),
    origin: ORIGIN,
    apiKey: set('OPENAI_API_KEY'),
  })
  const server = app.listen(Number(PORT), '127.0.0.1')
  server.once('listening', () => {
    const { port } = server.address() as AddressInfo
    console.log(`curl -i http://127.0.0.1:${port}/sign-up -d email=ann@acme.example -d password=long-enough`)
  })
}
