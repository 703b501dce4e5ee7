import { createHash, randomBytes, scrypt, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { promisify } from 'node:util'
import type { RequestHandler, Response } from 'express'
import type { UserTable } from './user-table.js'

const SESSION_DAYS = 30
const derive = promisify<string, Buffer, number, Buffer>(scrypt)
const digest = (token: string) => createHash('sha256').update(token).digest('hex')

/** The application's own users, with passwords and sessions. Yours take their place. */
export class Users {
  private readonly isSecure: boolean
  private readonly cookie: string
  private readonly cookiePattern: RegExp

  /** `origin` is the public one: a proxy may have ended https before a request comes here. */
  constructor(
    private readonly table: UserTable,
    private readonly origin: string,
  ) {
    this.isSecure = origin.startsWith('https:')
    // No other site of the domain can set a cookie with this prefix, and so sign a visitor in to an account of its own.
    this.cookie = this.isSecure ? '__Host-session' : 'session'
    this.cookiePattern = new RegExp(`(?:^|; )${this.cookie}=([0-9a-f]{64})`)
  }

  /** Returns the id of the new user, or undefined if the address is taken. */
  async add(email: string, password: string): Promise<string | undefined> {
    const salt = randomBytes(16)
    return this.table.add(email.toLowerCase(), salt, await derive(password, salt, 32))
  }

  /** Returns the id of a user, or undefined if the address or the password is wrong. */
  async find(email: string, password: string): Promise<string | undefined> {
    const row = await this.table.find(email.toLowerCase())
    const { id, salt = Buffer.alloc(16), password: stored = Buffer.alloc(32) } = row ?? {}
    return timingSafeEqual(await derive(password, salt, 32), stored) ? id : undefined
  }

  async signIn(res: Response, id: string): Promise<void> {
    const token = randomBytes(32).toString('hex')
    await this.table.startSession(digest(token), id, SESSION_DAYS)
    // Other sites cannot send a lax cookie with a POST.
    res.cookie(this.cookie, token, {
      httpOnly: true,
      maxAge: SESSION_DAYS * 24 * 3_600_000,
      sameSite: 'lax',
      secure: this.isSecure,
    })
  }

  /** Returns the account and the name of the user who has signed in, or undefined. */
  async signedIn({ headers }: IncomingMessage): Promise<{ account: string; name: string } | undefined> {
    const [, token = ''] = this.cookiePattern.exec(headers.cookie ?? '') ?? []
    const user = await this.table.findSession(digest(token))
    return user && { account: accountOf(user.id), name: user.email }
  }

  /**
   * Lets a form of another site change nothing, and sign nobody in, such as to an account of its own. Browsers say which page
   * sent a form; programs that are no browser hold no user's cookie.
   */
  readonly ownPages: RequestHandler = (req, res, next) => {
    const { method, headers } = req
    const isForeign =
      (headers.origin ?? this.origin) !== this.origin ||
      !['same-origin', 'none', undefined].includes(headers['sec-fetch-site'] as string | undefined)
    if (isForeign && method !== 'GET' && method !== 'HEAD')
      res.status(403).send('Only our own pages may do this.')
    else next()
  }

  /** Lets only requests of a user pass, and notes the account that pays. */
  readonly required: RequestHandler = async (req, res, next) => {
    const user = await this.signedIn(req)
    if (user === undefined) {
      res.status(401).send('Sign in first.')
      return
    }
    res.locals.account = user.account
    next()
  }
}

/** Users have one account each, named after the id in the application's own table. */
export const accountOf = (userId: string) => `user-${userId}`
