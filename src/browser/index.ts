/** A token from the handler of `sessionHandler`, or from any other source. */
export interface FreshToken {
  readonly token: string
  /** The token's lifetime in seconds. */
  readonly expires_in: number
}

export interface BrowserSessionOptions {
  /**
   * The address of the host's `sessionHandler`, on the page's own origin. Or a function that returns a token: if it throws,
   * the calls that wait for it fail with the same error.
   */
  readonly refresh: string | URL | (() => Promise<FreshToken>)
}

/** The token of a page, in its memory only. */
export interface BrowserSession {
  /**
   * A `fetch` that sends the token as `Authorization`, and no cookies. Give it only to a client of the router, such as
   * `new OpenAI({ baseURL, apiKey: 'session', fetch, dangerouslyAllowBrowser: true })`.
   *
   * If the host returns no token, for example because the user has signed out, the host's answer becomes the answer of
   * the call.
   */
  readonly fetch: (input: string | URL | Request, init?: RequestInit) => Promise<Response>
  /** Forgets the token, for a logout. The next call gets another one. */
  forget(): void
}

interface Kept {
  readonly token: string
  /** From this time on, a new call first gets another token. */
  readonly refreshAt: number
  readonly endsAt: number
}

const SECOND_MS = 1_000
const EARLY_MS = 60_000
const TIMEOUT_MS = 10_000
/** The statuses with which a host refuses this user a token. */
const SIGNED_OUT = [401, 403]
/** The router's wording for an expired token. */
const EXPIRED = 'error_description="expired"'

/**
 * Gets tokens for the calls of a page, and keeps the current one in memory. A call requests another token from 60
 * seconds before expiry, or from half of its lifetime if that is less than 2 minutes. All waiting calls share the
 * request. If the router still finds the token expired, the call is repeated once with another one, since it had not
 * begun. No other call is ever repeated. Throws a `TypeError` with `code` and `field` if an option is wrong.
 */
export function browserSession(options: BrowserSessionOptions): BrowserSession {
  const refresh = readRefresh(options)
  let kept: Kept | undefined
  let pending: Promise<Kept | Response> | undefined

  /** Returns the kept token, or the answer of a host that returns none. */
  function current(): Promise<Kept | Response> | Kept {
    const now = Date.now()
    if (kept !== undefined && now < kept.refreshAt) return kept
    if (pending !== undefined) return pending
    const before = kept
    const livesOn = () => pending === request && before !== undefined && Date.now() < before.endsAt
    const request: Promise<Kept | Response> = get(refresh, now).then(
      (got) => {
        // If the host is busy or broken, a token that is still valid is good enough.
        if (got instanceof Response) return livesOn() && !SIGNED_OUT.includes(got.status) ? before! : got
        if (pending === request) kept = got
        return got
      },
      (error) => {
        if (livesOn()) return before!
        throw error
      },
    )
    const settled = () => {
      if (pending === request) pending = undefined
    }
    pending = request
    request.then(settled, settled)
    return request
  }

  return {
    async fetch(input, init = {}) {
      const isRepeatable = !(input instanceof Request) && !(init.body instanceof ReadableStream)
      for (let isRepeat = false; ; isRepeat = true) {
        const found = await current()
        // Each call needs its own body to read.
        if (found instanceof Response) return found.clone()
        const headers = new Headers(init.headers ?? (input instanceof Request ? input.headers : undefined))
        headers.set('authorization', `Bearer ${found.token}`)
        const response = await fetch(input, { ...init, headers, credentials: 'omit' })
        const hasExpired =
          response.status === 401 && response.headers.get('www-authenticate')?.includes(EXPIRED)
        if (hasExpired && kept === found) kept = undefined
        if (!hasExpired || isRepeat || !isRepeatable) return response
        await response.body?.cancel()
      }
    },
    forget() {
      kept = undefined
      pending = undefined
    },
  }
}

/** This file has no schema, since pages load it. */
function readRefresh(options: BrowserSessionOptions): BrowserSessionOptions['refresh'] {
  const { refresh, ...others } = Object(options) as BrowserSessionOptions
  const [unknown] = Object.keys(others)
  if (unknown !== undefined) {
    throw optionsError('unknown_option', unknown, 'is not an option of browserSession; its option is refresh')
  }
  if (typeof refresh === 'string' || typeof refresh === 'function' || refresh instanceof URL) return refresh
  const problem = `must be an address or a function that returns a token; got ${typeof refresh}`
  throw optionsError('invalid_option', 'refresh', problem)
}

/** Returns the error that `isOptionsError` recognises. Its class would be an import, and a page loads this file alone. */
function optionsError(code: 'invalid_option' | 'unknown_option', field: string, problem: string): TypeError {
  const message = code === 'unknown_option' ? `${field} ${problem}` : `browserSession: ${field} ${problem}`
  return Object.assign(new TypeError(message), { name: 'OptionsError', code, field, problem })
}

async function get(refresh: BrowserSessionOptions['refresh'], now: number): Promise<Kept | Response> {
  let fresh: FreshToken
  if (typeof refresh === 'function') fresh = await refresh()
  else {
    const response = await fetch(refresh, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{}',
      credentials: 'same-origin',
      redirect: 'error',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    if (!response.ok) return response
    fresh = (await response.json()) as FreshToken
  }
  const { expires_in, token } = fresh
  if (typeof token !== 'string' || !(expires_in > 0)) {
    throw new TypeError('The answer to a refresh has no token, or no expires_in in seconds.')
  }
  const livesMs = expires_in * SECOND_MS
  return { token, endsAt: now + livesMs, refreshAt: now + livesMs - Math.min(EARLY_MS, livesMs / 2) }
}
