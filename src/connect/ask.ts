import { randomUUID } from 'node:crypto'
import { formatCredits, parseCredits } from '../base/money.js'
import { present } from '../base/present.js'
import { isLoopbackRedirect } from '../base/redirect-uris.js'
import type { Cap, CapRule, ConnectedApp, RegisteredApp } from '../contracts/connect.js'
import { findConnectable, restartIfOther } from './authorize.js'
import { endChoices, preselectedEnd } from './model/ends.js'
import type { ConnectUser, Settings } from './model/options.js'
import { exampleOf, isCovered, modelsOf, suggestedCap, type Terms, termsOf } from './model/terms.js'
import type { Interaction } from './oidc-provider.js'
import { consentPage, nameOf, type Question } from './pages/consent-page.js'
import { formTargetOf, pageHeaders } from './pages/page.js'
import { isOwnPage, readForm, redirect, send } from './requests.js'
import { isSealed, seal } from './seal.js'
import { mayGoOn, type Services, showError, showExpired, userOrSignIn, type Visit } from './services.js'

const SEAL = 'consent'
const TERMS_CHANGED = 'The terms of this app have just changed. Read them again before you agree.'

/** An open request, and everything that its answer depends on. */
interface Asked {
  readonly request: Interaction
  readonly user: ConnectUser
  readonly app: RegisteredApp
  readonly redirectUri: string
  readonly connectedApp: ConnectedApp | undefined
  readonly terms: Terms
}

/** `GET /ask/:uid`: shows the page, or skips it if there is nothing to ask. */
export async function ask(services: Services, visit: Visit, id: string): Promise<void> {
  const asked = await findAsked(services, visit, id)
  if (asked === undefined) return
  const { settings } = services
  const { connectedApp, redirectUri, request, terms } = asked
  const mustAsk =
    // Any program on the user's machine can present this app's id (RFC 8252, 8.6).
    isLoopbackRedirect(redirectUri) ||
    (request.params.prompt ?? '').split(' ').includes('consent') ||
    !isCovered(terms, connectedApp, settings)
  if (mustAsk) await showPage(services, visit, asked)
  else if (await isFirstAnswer(services, visit, asked)) await connect(services, visit, asked, false)
}

/** `POST /ask/:uid`: processes the answer. */
export async function answer(services: Services, visit: Visit, id: string): Promise<void> {
  const { addresses, limits, settings } = services
  if (!isOwnPage(visit.req, addresses.origin)) {
    settings.emit({ type: 'connect-refused', where: 'ask', error: 'foreign_origin' })
    showError(services, visit, 403, 'Not from this page', 'The answer was sent by another website.')
    return
  }
  const form = await readForm(visit.req)
  const asked = await findAsked(services, visit, id)
  if (asked === undefined) return
  if (!mayGoOn(services, visit, 'ask', limits.answers, asked.user.account)) return
  if (form === undefined || !isSealed(settings.secrets, SEAL, shownBy(asked), form.get('seal'))) {
    await showPage(services, visit, asked, { notice: TERMS_CHANGED })
    return
  }
  if (form.get('answer') === 'allow') await allow(services, visit, asked, form)
  else await deny(services, visit, asked)
}

/** Returns the request, its user and its app. Otherwise answers the visit with a login, a new start or an error. */
async function findAsked(services: Services, visit: Visit, id: string): Promise<Asked | undefined> {
  const { library, settings } = services
  const request = await library.findRequest(visit.req, visit.res, id)
  if (request === undefined) {
    showExpired(services, visit)
    return undefined
  }
  const user = await userOrSignIn(services, visit)
  if (user === undefined || (await restartIfOther(services, visit, request, user))) return undefined
  const { client_id: appId = '', redirect_uri: redirectUri = '', scope = '' } = request.params
  const app = await findConnectable(services, visit, request, user)
  if (app === undefined) return undefined
  const connectedApp = await settings.store.findConnectedApp(user.account, appId)
  // The terms of a connected app apply to all its devices, so this device must not remove scopes from the others.
  const scopes = new Set([...scope.split(' '), ...(connectedApp?.scopes ?? [])])
  return { request, user, app, redirectUri, connectedApp, terms: termsOf(app, [...scopes], settings) }
}

/** Returns everything that the answer refers to. */
function shownBy({ app, redirectUri, request, terms, user }: Asked): unknown {
  const { id, logo, owner, site, state } = app
  return [request.uid, user.account, id, nameOf(app), logo?.hash, owner, site, state, redirectUri, terms]
}

async function showPage(
  services: Services,
  { req, res }: Visit,
  asked: Asked,
  again: Partial<Pick<Question, 'notice' | 'capFault' | 'cap' | 'end'>> = {},
): Promise<void> {
  const { frame, settings } = services
  const { app, connectedApp, redirectUri, terms, user } = asked
  const { period: per, zone } = settings.cap
  const models = await modelsOf(settings.catalogue, terms.models)
  const now = Date.now()
  const question: Question = {
    user,
    app,
    redirectUri,
    terms,
    models,
    example: exampleOf(models, terms.markup),
    connectedApp,
    spent: await settings.store.spentInPeriod(user.account, app.id, {
      per,
      ...(zone !== undefined && { zone }),
    }),
    cap: again.cap ?? suggestedCap(app, connectedApp, settings),
    ends: endChoices(settings, connectedApp, now),
    end: again.end ?? preselectedEnd(settings, connectedApp, now),
    capFault: again.capFault,
    notice: again.notice,
    seal: seal(settings.secrets, SEAL, shownBy(asked)),
  }
  send(
    req,
    res,
    again.capFault === undefined && again.notice === undefined ? 200 : 400,
    pageHeaders(formTargetOf(redirectUri)),
    consentPage(frame, settings, question),
  )
}

async function allow(services: Services, visit: Visit, asked: Asked, form: URLSearchParams): Promise<void> {
  const { settings } = services
  const { app, connectedApp, redirectUri, terms, user } = asked
  const cap = readCap(form.get('cap') ?? '', settings)
  const end = endChoices(settings, connectedApp, Date.now()).find(({ value }) => value === form.get('days'))
  if ('fault' in cap || end === undefined) {
    const answers = { cap: form.get('cap') ?? '', ...(end !== undefined && { end: end.value }) }
    const capFault = 'fault' in cap ? cap.fault : undefined
    await showPage(services, visit, asked, {
      ...answers,
      capFault,
      ...(capFault === undefined && { notice: 'Choose when the access ends.' }),
    })
    return
  }
  if (!(await isFirstAnswer(services, visit, asked))) return
  const consented = await settings.store.consent({
    account: user.account,
    appId: app.id,
    ...terms,
    ...(cap.cap !== undefined && { cap: cap.cap }),
    capRule: ruleOf(settings),
    ...(end.endsAt !== undefined && { endsAt: end.endsAt }),
    appName: nameOf(app),
    redirectHost: new URL(redirectUri).hostname,
  })
  if (consented === undefined) showSuspended(services, visit)
  else await connect(services, visit, asked, true)
}

/**
 * If a page is answered more than once, for example by two clicks, only the first answer counts. Each would add a
 * device.
 */
async function isFirstAnswer(services: Services, visit: Visit, { request }: Asked): Promise<boolean> {
  const consumption = await services.settings.store.consumeOauth('Interaction', request.uid)
  if (consumption?.first === true) return true
  showExpired(services, visit)
  return false
}

/** Adds a connection to the user's connected app, and redirects the browser to receive the code. */
async function connect(services: Services, visit: Visit, asked: Asked, wasAsked: boolean): Promise<void> {
  const { library, settings } = services
  const { app, user } = asked
  const connectionId = randomUUID()
  const label = deviceOf(visit.req.headers['user-agent'])
  const added = await settings.store.addConnection({
    id: connectionId,
    account: user.account,
    appId: app.id,
    ...(label !== undefined && { label }),
  })
  const connectedApp = added ? await settings.store.findConnectedApp(user.account, app.id) : undefined
  if (connectedApp === undefined) {
    showSuspended(services, visit)
    return
  }
  const location = await library.finish(visit.req, visit.res, { account: user.account, connectionId })
  settings.emit({
    type: 'app-connected',
    account: user.account,
    appId: app.id,
    credentialId: connectedApp.id,
    connectionId,
    asked: wasAsked,
  })
  redirect(visit.req, visit.res, location)
}

async function deny(services: Services, visit: Visit, asked: Asked): Promise<void> {
  if (!(await isFirstAnswer(services, visit, asked))) return
  const { app, user } = asked
  const { library, settings } = services
  const location = await library.finish(visit.req, visit.res, {
    error: 'access_denied',
    description: 'the user denied the request',
  })
  settings.emit({ type: 'app-denied', account: user.account, appId: app.id })
  redirect(visit.req, visit.res, location)
}

function showSuspended(services: Services, visit: Visit): void {
  showError(
    services,
    visit,
    403,
    'This app cannot be connected',
    'The app or your account has just been suspended.',
  )
}

/** Stored with the connected app, so that it also binds its user on the host's other pages. */
function ruleOf({ cap: { max, period: per, required, zone } }: Settings): CapRule {
  return {
    required,
    per,
    ...present({ max, zone }),
  }
}

function readCap(
  text: string,
  { cap, host }: Settings,
): { readonly cap: Cap | undefined } | { readonly fault: string } {
  const trimmed = text.trim()
  if (trimmed === '') {
    return cap.required ? { fault: `Say how much it may spend in a ${cap.period}.` } : { cap: undefined }
  }
  let amount: bigint
  try {
    amount = parseCredits(trimmed)
  } catch {
    return { fault: `Write an amount of ${host.credits} in digits, with a point, such as 2.5.` }
  }
  if (amount <= 0n) return { fault: 'It must be more than 0.' }
  if (amount > (cap.max ?? MAX_CAP)) {
    return { fault: `It must be at most ${formatCredits(cap.max ?? MAX_CAP)}.` }
  }
  return { cap: { amount, per: cap.period, ...(cap.zone !== undefined && { zone: cap.zone }) } }
}

/** The largest amount that limits can count: 64-bit integers of 10^-9 credit. */
const MAX_CAP = 1_000_000_000n * 1_000_000_000n

const BROWSERS: readonly (readonly [pattern: RegExp, name: string])[] = [
  [/\bFirefox\//, 'Firefox'],
  [/\bEdg\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\bChrome\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
]
const SYSTEMS: readonly (readonly [pattern: RegExp, name: string])[] = [
  [/\biPhone\b/, 'iPhone'],
  [/\biPad\b/, 'iPad'],
  [/\bAndroid\b/, 'Android'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b/, 'Mac'],
  [/\bLinux\b/, 'Linux'],
]

/** Names the browser of a request, so that its user recognises the device later: `Firefox on Windows`. */
function deviceOf(userAgent: string | undefined): string | undefined {
  const find = (names: typeof BROWSERS): string | undefined =>
    names.find(([pattern]) => pattern.test(userAgent ?? ''))?.[1]
  const browser = find(BROWSERS)
  const system = find(SYSTEMS)
  return browser === undefined || system === undefined ? (browser ?? system) : `${browser} on ${system}`
}
