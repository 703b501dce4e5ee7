import { createHash, randomBytes } from 'node:crypto'
import { type Stage, WEB_REDIRECT } from './stage.js'
import { USER_COOKIE } from './users.js'

/** Where a host is. */
export type Place = Pick<Stage, 'issuer' | 'origin' | 'routerUrl'>

interface Cookie {
  readonly name: string
  readonly path: string
  readonly value: string
}

/** A browser without scripts: it keeps cookies by path, and follows redirects only when told to. */
export class UserAgent {
  readonly cookies: Cookie[] = []

  constructor(
    private readonly origin: string,
    user?: string,
  ) {
    if (user !== undefined) this.signIn(user)
  }

  signIn(user: string): void {
    this.setCookie(`${USER_COOKIE}=${user}; path=/`)
  }

  signOut(): void {
    this.setCookie(`${USER_COOKIE}=; path=/`)
  }

  /** Requests an address of the host. A redirect is returned, not followed. */
  async visit(address: string, init: RequestInit = {}): Promise<Response> {
    const url = new URL(address, this.origin)
    const cookie = this.cookies
      .filter(({ path }) => url.pathname.startsWith(path))
      .map(({ name, value }) => `${name}=${value}`)
      .join('; ')
    const response = await fetch(url, {
      redirect: 'manual',
      ...init,
      headers: { cookie, 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0', ...init.headers },
    })
    for (const text of response.headers.getSetCookie()) this.setCookie(text)
    return response
  }

  /** Goes on from redirect to redirect, as long as they stay on the host. */
  async follow(address: string, init: RequestInit = {}): Promise<Response> {
    let response = await this.visit(address, init)
    for (;;) {
      const location = response.headers.get('location')
      if (location === null || new URL(location, this.origin).origin !== this.origin) return response
      await response.arrayBuffer()
      response = await this.visit(location)
    }
  }

  private setCookie(text: string): void {
    const [pair = '', ...attributes] = text.split('; ')
    const name = pair.slice(0, pair.indexOf('='))
    const value = pair.slice(pair.indexOf('=') + 1)
    const path = attributes.find((attribute) => attribute.startsWith('path='))?.slice(5) ?? '/'
    const known = this.cookies.findIndex((cookie) => cookie.name === name && cookie.path === path)
    if (known !== -1) this.cookies.splice(known, 1)
    if (value !== '') this.cookies.push({ name, path, value })
  }
}

export interface Pkce {
  readonly verifier: string
  readonly challenge: string
}

export function createPkce(): Pkce {
  const verifier = randomBytes(32).toString('base64url')
  return { verifier, challenge: createHash('sha256').update(verifier).digest('base64url') }
}

/** Returns the address to which the app sends its user. A parameter that is undefined is left out. */
export function authorizeUrl(
  { issuer }: Place,
  { challenge }: Pkce,
  more: Readonly<Record<string, string | undefined>> = {},
): string {
  const query = new URLSearchParams()
  const parameters = {
    client_id: 'notes',
    response_type: 'code',
    redirect_uri: WEB_REDIRECT,
    code_challenge: challenge,
    code_challenge_method: 'S256',
    state: 'state-1',
    ...more,
  }
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) query.set(name, value)
  return `${issuer}/authorize?${query}`
}

/** A consent page, with its form. */
export interface Page {
  readonly response: Response
  readonly address: string
  readonly text: string
  readonly seal: string
}

/** Goes from the app's link to the consent page. */
export async function openPage(agent: UserAgent, address: string): Promise<Page> {
  let response = await agent.visit(address)
  let last = address
  while (response.headers.has('location')) {
    last = response.headers.get('location')!
    await response.arrayBuffer()
    response = await agent.visit(last)
  }
  const text = await response.text()
  return { response, address: last, text, seal: /name="seal" value="([^"]+)"/.exec(text)?.[1] ?? '' }
}

/** Sends the form of a page as a browser does. */
export function submit(
  agent: UserAgent,
  stage: Place,
  { address, seal }: Page,
  answers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  return agent.follow(address, {
    method: 'POST',
    headers: { origin: stage.origin, 'sec-fetch-site': 'same-origin' },
    body: new URLSearchParams({ seal, answer: 'allow', cap: '5', days: '90', ...answers }),
  })
}

export interface Tokens {
  readonly access_token: string
  readonly refresh_token: string
  readonly scope: string
  readonly expires_in: number
  readonly token_type: string
}

/** Does all of it: the link, the page, the answer and the exchange of the code. */
export async function connectApp(
  stage: Place,
  agent: UserAgent,
  options: {
    readonly parameters?: Readonly<Record<string, string | undefined>>
    readonly answers?: Readonly<Record<string, string>>
  } = {},
): Promise<Tokens> {
  const { code, pkce } = await getCode(stage, agent, options)
  const redirectUri = options.parameters?.redirect_uri ?? WEB_REDIRECT
  const response = await exchange(stage, { code, pkce, redirectUri })
  if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`)
  return (await response.json()) as Tokens
}

export async function getCode(
  stage: Place,
  agent: UserAgent,
  {
    answers = {},
    parameters = {},
  }: {
    readonly parameters?: Readonly<Record<string, string | undefined>>
    readonly answers?: Readonly<Record<string, string>>
  } = {},
): Promise<{ code: string; pkce: Pkce; callback: URL }> {
  const pkce = createPkce()
  const start = await agent.follow(authorizeUrl(stage, pkce, parameters))
  let response = start
  if (!response.headers.has('location')) {
    const text = await response.text()
    const seal = /name="seal" value="([^"]+)"/.exec(text)?.[1]
    if (seal === undefined) throw new Error(`No consent page: ${response.status} ${text}`)
    response = await submit(agent, stage, { response, address: response.url, text, seal }, answers)
  }
  const location = response.headers.get('location')
  if (location === null) throw new Error(`No redirect: ${response.status} ${await response.text()}`)
  const callback = new URL(location)
  const code = callback.searchParams.get('code')
  if (code === null) throw new Error(`No code: ${location}`)
  return { code, pkce, callback }
}

export function exchange(
  stage: Place,
  {
    code,
    pkce,
    redirectUri = WEB_REDIRECT,
    client = 'notes',
  }: { code: string; pkce: Pkce; redirectUri?: string; client?: string },
): Promise<Response> {
  return post(stage, 'token', {
    grant_type: 'authorization_code',
    code,
    redirect_uri: redirectUri,
    client_id: client,
    code_verifier: pkce.verifier,
  })
}

export function refresh(
  stage: Place,
  refreshToken: string,
  more: Record<string, string> = {},
): Promise<Response> {
  return post(stage, 'token', {
    grant_type: 'refresh_token',
    refresh_token: refreshToken,
    client_id: 'notes',
    ...more,
  })
}

export function post(
  { issuer }: Place,
  endpoint: 'token' | 'revoke' | 'introspect',
  form: Record<string, string>,
  headers: Record<string, string> = {},
): Promise<Response> {
  return fetch(`${issuer}/${endpoint}`, { method: 'POST', body: new URLSearchParams(form), headers })
}

/** Makes a call with an access token. */
export function call({ routerUrl }: Place, token: string, body: object = {}): Promise<Response> {
  return fetch(`${routerUrl}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'acme/fast', messages: [{ role: 'user', content: 'Hi' }], ...body }),
  })
}

/** Calls with a token that has just been revoked until it is refused. No call that begins a second later may be admitted. */
export async function refusedWithinASecond(place: Place, token: string): Promise<void> {
  const revokedAt = performance.now()
  for (;;) {
    const beganAt = performance.now()
    const { status } = await call(place, token)
    if (status === 401) return
    if (beganAt - revokedAt >= 1_000)
      throw new Error(`A call was answered with ${status} a second after the end`)
  }
}
