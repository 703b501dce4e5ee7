import { randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { type Connect, createConnect } from 'compat-router/connect'
import type { DurableStores } from 'compat-router/sqlite'
import express, { type RequestHandler } from 'express'
import { demoAccounts } from './demo-accounts.js'
import { refuseOtherSites } from './same-origin.js'

const COOKIE = 'example_session'
const CONNECT_PATH = '/connect'
const MAX_SESSIONS = 100
/** A path of Connect with its query. Without dots, the path cannot leave `/connect/`. */
const TARGET_PATTERN = /^\/connect\/[\w/-]+(?:\?|$)/

export interface ExampleConnect {
  readonly connect: Connect
  /** The host's own login page, where Connect sends users who have not signed in. */
  readonly login: RequestHandler
}

/** Connect, and a login that anyone may use: a real host has users and passwords of its own. */
export function exampleConnect(
  origin: string,
  routerPath: string,
  stores: DurableStores,
  log: (line: string) => void,
): ExampleConnect {
  const sessions = new Set<string>()
  const account = demoAccounts.appUser
  const connect = createConnect({
    url: `${origin}${CONNECT_PATH}`,
    router: `${origin}${routerPath}`,
    stores,
    authenticate: (req) => (sessions.has(sessionOf(req)) ? { account, name: account } : undefined),
    signIn: (returnTo) => `/login?to=${encodeURIComponent(returnTo)}`,
    // One process, whose open requests may end with it. Several processes need the same secrets.
    secrets: [randomBytes(32).toString('hex')],
    host: { name: 'Example host', home: origin },
    cap: { suggested: '2', max: '5' },
    onEvent: (event) => log(`${event.type} ${JSON.stringify(event)}`),
  })
  const login = express.Router()
  login.get('/login', (_req, res) => {
    res
      .set({ 'content-security-policy': "default-src 'none'; form-action 'self'; frame-ancestors 'none'" })
      .send(loginPage(account))
  })
  // Otherwise another site could sign a visitor in.
  login.post('/login', refuseOtherSites, (req, res) => {
    const session = randomBytes(32).toString('hex')
    sessions.add(session)
    const [oldest] = sessions
    if (sessions.size > MAX_SESSIONS) sessions.delete(oldest!)
    res.cookie(COOKIE, session, { httpOnly: true, sameSite: 'lax' }).redirect(303, targetOf(req.query.to))
  })
  return { connect, login }
}

/** The login may go on only to Connect: otherwise it would send users wherever a link says. */
function targetOf(to: unknown): string {
  return typeof to === 'string' && TARGET_PATTERN.test(to) ? to : '/'
}

function sessionOf({ headers }: IncomingMessage): string {
  return new RegExp(`(?:^|; )${COOKIE}=(\\w+)`).exec(headers.cookie ?? '')?.[1] ?? ''
}

/** The form is sent to the address of the page, with its query. */
function loginPage(account: string): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Sign in</title>
<h1>Example host</h1>
<form method="post"><button>Sign in as ${account}</button></form>
</html>
`
}
