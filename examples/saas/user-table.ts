import type pg from 'pg'

export interface UserRow {
  readonly id: string
  readonly email: string
  readonly salt: Buffer
  readonly password: Buffer
}

/** The rows of users and of their sessions. */
export interface UserTable {
  /** Returns the id of the new user, or undefined if the address is taken. */
  add(email: string, salt: Buffer, password: Buffer): Promise<string | undefined>
  find(email: string): Promise<UserRow | undefined>
  startSession(digest: string, userId: string, days: number): Promise<void>
  /** Returns the user of a session that has not ended. */
  findSession(digest: string): Promise<Pick<UserRow, 'id' | 'email'> | undefined>
}

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

/** Makes the tables in PostgreSQL if they are missing. */
export async function postgresUsers(pool: pg.Pool): Promise<UserTable> {
  await pool.query(SCHEMA)
  return {
    async add(email, salt, password) {
      const { rows } = await pool.query<{ id: string }>(
        'insert into users (email, salt, password) values ($1, $2, $3) on conflict do nothing returning id',
        [email, salt, password],
      )
      return rows[0]?.id
    },
    async find(email) {
      const { rows } = await pool.query<UserRow>(
        'select id, email, salt, password from users where email = $1',
        [email],
      )
      return rows[0]
    },
    async startSession(digest, userId, days) {
      await pool.query('delete from sessions where expires_at <= now()')
      await pool.query(
        'insert into sessions (digest, user_id, expires_at) values ($1, $2, now() + make_interval(days => $3))',
        [digest, userId, days],
      )
    },
    async findSession(digest) {
      const { rows } = await pool.query<UserRow>(
        'select id, email from users join sessions on user_id = id where digest = $1 and expires_at > now()',
        [digest],
      )
      return rows[0]
    },
  }
}
