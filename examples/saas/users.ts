import { createHash, randomBytes, scrypt, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { promisify } from 'node:util'
import type { RequestHandler, Response } from 'express'
import type pg from 'pg'

/** The lock is of this one query: processes that start at once would make the same tables. */
const SCHEMA = `
  select pg_advisory_xact_lock(hashtext('users of the application'));
  create table if not exists users (
    id bigint generated always as identity primary key,
    email text not null unique, salt bytea not null, password bytea not null
  );
  create table if not exists sessions (
    digest text primary key, user_id bigint not null references users, expires_at timestamptz not null
  )`
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
    private readonly pool: pg.Pool,
    private readonly origin: string,
  ) {
    this.isSecure = origin.startsWith('https:')
    // No other site of the domain can set a cookie with this prefix, and so sign a visitor in to an account of its own.
    this.cookie = this.isSecure ? '__Host-session' : 'session'
    this.cookiePattern = new RegExp(`(?:^|; )${this.cookie}=([0-9a-f]{64})`)
  }

  async migrate(): Promise<void> {
    await this.pool.query(SCHEMA)
  }

  /** Returns the id of the new user, or undefined if the address is taken. */
  async add(email: string, password: string): Promise<string | undefined> {
    const salt = randomBytes(16)
    const { rows } = await this.pool.query<{ id: string }>(
      'insert into users (email, salt, password) values ($1, $2, $3) on conflict do nothing returning id',
      [email.toLowerCase(), salt, await derive(password, salt, 32)],
    )
    return rows[0]?.id
  }

  /** Returns the id of a user, or undefined if the address or the password is wrong. */
  async find(email: string, password: string): Promise<string | undefined> {
    const { rows } = await this.pool.query<{ id: string; salt: Buffer; password: Buffer }>(
      'select id, salt, password from users where email = $1',
      [email.toLowerCase()],
    )
    const { id, salt = Buffer.alloc(16), password: stored = Buffer.alloc(32) } = rows[0] ?? {}
    return timingSafeEqual(await derive(password, salt, 32), stored) ? id : undefined
  }

  async signIn(res: Response, id: string): Promise<void> {
    const token = randomBytes(32).toString('hex')
    await this.pool.query('delete from sessions where expires_at <= now()')
    await this.pool.query(
      'insert into sessions (digest, user_id, expires_at) values ($1, $2, now() + make_interval(days => $3))',
      [digest(token), id, SESSION_DAYS],
    )
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
    const { rows } = await this.pool.query<{ id: string; email: string }>(
      'select id, email from users join sessions on user_id = id where digest = $1 and expires_at > now()',
      [digest(token)],
    )
    return rows[0] && { account: accountOf(rows[0].id), name: rows[0].email }
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
