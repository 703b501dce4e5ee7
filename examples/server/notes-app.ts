import { randomBytes } from 'node:crypto'
import type { Admin } from 'compat-router/admin'
import express, { type ErrorRequestHandler, type Express, type Request, type Response } from 'express'
import * as oauth from 'openid-client'
import { refuseOtherSites } from './same-origin.js'

/** The app's id at the host. */
const APP_ID = 'notes'
const CALLBACK = '/callback'
const COOKIE = 'notes_session'
const EARLY_MS = 60_000
/** Anybody can be a visitor, so what is kept is bounded. */
const MAX_VISITORS = 1_000
const MAX_SAID = 20

/** Registers the app at the host, as an operator would. On loopback, the port does not count. */
export async function registerNotes(admin: Admin, models: readonly string[]): Promise<void> {
  await admin.apps.put({
    id: APP_ID,
    name: 'Notes',
    redirectUris: [`http://127.0.0.1${CALLBACK}`],
    allowedModels: models,
    markup: { basisPoints: 2_000, flat: '0.00001' },
    account: 'notes-earnings',
    suggestedCap: '1',
  })
}

/** What the app keeps of a visitor who is at the host, until the visitor comes back. */
interface Checks {
  readonly pkceCodeVerifier: string
  readonly expectedState: string
}

/** What the app knows of one visitor. */
interface Visitor {
  checks?: Checks
  tokens?: oauth.TokenEndpointResponse
  expiresAt: number
  said: readonly string[]
}

/**
 * An app of somebody else, on a port of its own. It knows only the host's address: a visitor connects it to the host, and
 * then its calls are paid with the visitor's credits.
 */
export function createNotesApp(hostOrigin: string, model: string): Express {
  const visitors = new Map<string, Visitor>()
  let found: Promise<oauth.Configuration> | undefined
  const discover = (): Promise<oauth.Configuration> => {
    // Leave out allowInsecureRequests for a host with https.
    found ??= oauth
      .discovery(new URL(`${hostOrigin}/connect`), APP_ID, undefined, oauth.None(), {
        algorithm: 'oauth2',
        execute: [oauth.allowInsecureRequests],
      })
      .catch((error: unknown) => {
        // The host may be back at the next try.
        found = undefined
        throw error
      })
    return found
  }

  const app = express()
  app.disable('x-powered-by')
  app.use(refuseOtherSites, express.urlencoded({ extended: false }))

  app.get('/', (req, res) => {
    res.send(page(visitorOf(req)))
  })

  app.post('/connect', async (req, res) => {
    const visitor = visitorOf(req) ?? newVisitor(res)
    const checks = { pkceCodeVerifier: oauth.randomPKCECodeVerifier(), expectedState: oauth.randomState() }
    const link = oauth.buildAuthorizationUrl(await discover(), {
      redirect_uri: `${originOf(req)}${CALLBACK}`,
      scope: 'models.run credits.read',
      state: checks.expectedState,
      code_challenge: await oauth.calculatePKCECodeChallenge(checks.pkceCodeVerifier),
      code_challenge_method: 'S256',
    })
    visitor.checks = checks
    res.redirect(303, link.href)
  })

  app.get(CALLBACK, async (req, res) => {
    const visitor = visitorOf(req)
    const checks = visitor?.checks
    // Another site can link here too, and only the visitor whom the host sends back knows the state.
    if (visitor !== undefined && checks !== undefined && req.query.state === checks.expectedState) {
      // A code is presented once: for the host, a second time means that somebody has copied it. A reload of this page does so.
      delete visitor.checks
      const callback = new URL(CALLBACK, originOf(req))
      callback.search = new URL(req.url, callback).search
      await oauth.authorizationCodeGrant(await discover(), callback, checks).then(
        (tokens) => keep(visitor, tokens),
        (error: Error) => say(visitor, `Not connected: ${error.message}`),
      )
    }
    res.redirect(303, '/')
  })

  app.post('/ask', async (req, res) => {
    const visitor = visitorOf(req)
    if (visitor?.tokens !== undefined) {
      const reply = await ask(visitor, visitor.tokens, String(req.body?.text))
      say(visitor, reply)
    }
    res.redirect(303, '/')
  })

  app.post('/disconnect', async (req, res) => {
    const visitor = visitorOf(req)
    if (visitor?.tokens !== undefined) {
      await oauth.tokenRevocation(await discover(), visitor.tokens.access_token)
      delete visitor.tokens
    }
    res.redirect(303, '/')
  })

  const failed: ErrorRequestHandler = (error, _req, res, _next) => {
    const isInput = error.expose === true
    if (!isInput) console.error(error)
    res
      .status(isInput ? 400 : 502)
      .type('text')
      .send(isInput ? 'This cannot be read.' : 'The host cannot be reached.')
  }
  app.use(failed)

  async function ask(visitor: Visitor, given: oauth.TokenEndpointResponse, text: string): Promise<string> {
    let tokens = given
    if (visitor.expiresAt - Date.now() < EARLY_MS) {
      const refreshed = await oauth
        .refreshTokenGrant(await discover(), given.refresh_token!)
        .catch((error: Error) => error)
      if (refreshed instanceof Error) {
        delete visitor.tokens
        return `Not connected any more: ${refreshed.message}`
      }
      keep(visitor, refreshed)
      tokens = refreshed
    }
    const response = await fetch(`${hostOrigin}/compat/v1/chat/completions`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${tokens.access_token}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify({ model, messages: [{ role: 'user', content: text }] }),
    })
    // The user has disconnected the app: it has to be connected again.
    if (response.status === 401) delete visitor.tokens
    const body = (await response.json()) as Reply
    if (body.error !== undefined) return `Refused: ${body.error.message}`
    return `${body.choices[0]!.message.content} (cost ${body.usage.cost} credits)`
  }

  function visitorOf(req: Request): Visitor | undefined {
    const id = new RegExp(`(?:^|; )${COOKIE}=(\\w+)`).exec(req.headers.cookie ?? '')?.[1]
    return id === undefined ? undefined : visitors.get(id)
  }

  function newVisitor(res: Response): Visitor {
    const id = randomBytes(32).toString('hex')
    const visitor: Visitor = { expiresAt: 0, said: [] }
    visitors.set(id, visitor)
    const [oldest] = visitors.keys()
    if (visitors.size > MAX_VISITORS) visitors.delete(oldest!)
    // Lax, since the visitor comes back from the host.
    res.cookie(COOKIE, id, { httpOnly: true, sameSite: 'lax' })
    return visitor
  }

  return app
}

interface Reply {
  readonly choices: readonly { readonly message: { readonly content: string } }[]
  readonly usage: { readonly cost: number }
  readonly error?: { readonly message: string }
}

function keep(visitor: Visitor, tokens: oauth.TokenEndpointResponse): void {
  visitor.tokens = tokens
  visitor.expiresAt = Date.now() + (tokens.expires_in ?? 0) * 1_000
}

function say(visitor: Visitor, text: string): void {
  visitor.said = [...visitor.said, text].slice(-MAX_SAID)
}

function originOf(req: Request): string {
  return `http://127.0.0.1:${req.socket.localPort}`
}

function page(visitor: Visitor | undefined): string {
  const said = (visitor?.said ?? []).map((text) => `<p>${escaped(text)}</p>`).join('\n')
  const forms =
    visitor?.tokens === undefined
      ? '<form method="post" action="/connect"><button>Connect</button></form>'
      : `<form method="post" action="/ask"><label>Note <input name="text" value="Hello!"></label> <button>Ask</button></form>
<form method="post" action="/disconnect"><button>Disconnect</button></form>`
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Notes</title>
<h1>Notes</h1>
${said}
${forms}
</html>
`
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
