import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { sqliteStores } from 'compat-router/sqlite'
import Database from 'libsql'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openDatabase } from '../../examples/server/database.js'
import { type DatabaseSettings, SettingsError } from '../../examples/server/settings.js'
import { createTestDatabase, type TestDatabase } from '../helpers/postgres.js'
import { createTestFile, type TestFile } from '../helpers/sqlite.js'

let place: TestFile

beforeEach(async () => {
  place = await createTestFile()
})

afterEach(() => place.remove())

/** Returns the message of the refusal, and the lines logged before it. */
async function refusal(settings: DatabaseSettings): Promise<{ message: string; lines: string[] }> {
  const lines: string[] = []
  const error = await openDatabase(
    settings,
    (line) => lines.push(line),
    () => undefined,
  ).then(
    async (opened) => {
      await opened.close()
      return new Error('It opened')
    },
    (refused: unknown) => refused as Error,
  )
  expect(error).toBeInstanceOf(SettingsError)
  return { message: error.message, lines }
}

describe("the example server's SQLite file", () => {
  const sqlite = (file: string) => ({ kind: 'sqlite', file }) as const

  it('is created with its folders if it does not exist', async () => {
    const opened = await openDatabase(
      sqlite(join(dirname(place.file), 'a', 'b.db')),
      () => undefined,
      () => undefined,
    )
    expect(opened.where).toMatch(/^SQLite file .*a\/b\.db$/)
    await opened.close()
  })

  it('is refused if some of its pages are damaged', async () => {
    const stores = sqliteStores({ file: place.file })
    await stores.ready()
    await stores.close()
    const bytes = readFileSync(place.file)
    writeFileSync(place.file, bytes.fill(0xff, 100))
    expect((await refusal(sqlite(place.file))).message).toContain(
      `${place.file} is not an SQLite database, or is damaged.`,
    )
  })

  it('is refused if it is a folder, or its parent is a file', async () => {
    mkdirSync(join(dirname(place.file), 'folder'))
    writeFileSync(place.file, '')
    const folder = join(dirname(place.file), 'folder')
    const { message } = await refusal(sqlite(folder))
    expect(message).toContain(`${folder} cannot be used`)
    expect(message).toContain('Check its folder')
    // The key file is beside the database and is opened first, so its error comes first.
    const inFile = await refusal(sqlite(join(place.file, 'credits.db')))
    expect(inFile.message).toContain(`${join(place.file, 'secret.key')} cannot be used`)
    expect(inFile.message).toContain('Correct its folder and owner')
  })

  it('is refused after a wait if another program holds a lock on it', { timeout: 90_000 }, async () => {
    const other = new Database(place.file)
    other.exec('pragma locking_mode = exclusive; begin exclusive; create table other (id)')
    try {
      const { message, lines } = await refusal(sqlite(place.file))
      expect(message).toContain(`${place.file} is locked by another program.`)
      expect(lines).toEqual([`Waiting for the SQLite file ${place.file} …`])
    } finally {
      other.close()
    }
  })
})

describe("the example server's PostgreSQL database", () => {
  let database: TestDatabase

  beforeEach(async () => {
    database = await createTestDatabase()
  })

  afterEach(() => database.drop())

  const changed = (change: (url: URL) => void, schema?: string): DatabaseSettings => {
    const url = new URL(database.url)
    url.password ||= 'hunter2'
    change(url)
    const secretKeys = `test:${'1'.repeat(64)}`
    return { kind: 'postgres', url: url.href, secretKeys, ...(schema === undefined ? {} : { schema }) }
  }

  it('is opened in the given schema', async () => {
    const opened = await openDatabase(
      changed(() => undefined, 'example'),
      () => undefined,
      () => undefined,
    )
    expect(opened.where).toMatch(/^PostgreSQL .*, schema example$/)
    expect(opened.where).not.toContain('hunter2')
    await opened.close()
  })

  it.each<[string, (url: URL) => void, string]>([
    [
      'the server is not running',
      (url) => {
        url.port = '9'
      },
      'cannot be used (connect ECONNREFUSED',
    ],
    [
      'the host is unknown',
      (url) => {
        url.hostname = 'nowhere.invalid'
      },
      'Check DATABASE_URL',
    ],
    [
      'the database does not exist',
      (url) => {
        url.pathname = '/nothing'
      },
      'does not exist: the server has no',
    ],
    [
      'the user does not exist',
      (url) => {
        url.username = 'nobody_at_all'
      },
      'refuses this user',
    ],
  ])('leads to advice if %s, and never shows the password', async (_, change, part) => {
    const { message } = await refusal(changed(change))
    expect(message).toContain(part)
    expect(message).not.toContain('hunter2')
  })

  it('leads to advice if the user may not create a schema', async () => {
    const role = `bystander_${randomBytes(4).toString('hex')}`
    await database.pool.query(`create role ${role} login password 'hunter2'`)
    try {
      const { message } = await refusal(
        changed((url) => {
          url.username = role
          url.password = 'hunter2'
        }),
      )
      expect(message).toContain('does not let this user create a schema')
    } finally {
      await database.pool.query(`drop role ${role}`)
    }
  })
})
