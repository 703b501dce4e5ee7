import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../helpers/postgres.js'
import { createTestFile } from '../helpers/sqlite.js'
import { READING } from './reading-commands.js'
import { runCommand } from './run-command.js'

describe('the command line on a PostgreSQL schema without tables', () => {
  let server: TestDatabase
  beforeAll(async () => {
    server = await createTestDatabase()
  })
  afterAll(() => server.drop())

  const run = (args: string, env: Readonly<Record<string, string>> = {}) =>
    runCommand(args.split(' '), {
      DATABASE_URL: server.url.replace('postgres@', 'postgres:hidden@'),
      ...env,
    })

  /** Returns the schemas of the database except the server's own. */
  async function made(): Promise<readonly string[]> {
    const { rows } = await server.pool.query<{ name: string }>(
      "select nspname as name from pg_namespace where nspname !~ '^(pg_|information_schema|public)' order by 1",
    )
    return rows.map(({ name }) => name)
  }

  it.each(READING)(
    '%s exits with 1, names the schema without tables and the remedy, and creates no schema',
    async (args) => {
      const { host, pathname } = new URL(server.url)
      expect(await run(`${args} --schema typo`)).toEqual({
        exitCode: 1,
        out: '',
        said: `error: PostgreSQL ${host}${pathname}, schema typo, has no tables of compat-router. Name another schema with --schema or COMPAT_ROUTER_SCHEMA, or another database with DATABASE_URL; to create them in this one, run compat-router maintenance migrate with the same settings.\n`,
      })
      expect(await made()).toEqual([])
    },
  )

  it('is not used if a file is named, which may belong to another application', async () => {
    const testFile = await createTestFile()
    onTestFinished(() => testFile.remove())
    const { exitCode } = await run(`--file ${testFile.file} accounts open alice`)
    expect({ exitCode, made: await made() }).toEqual({ exitCode: 0, made: [] })
    expect((await run(`--file ${testFile.file} accounts list`)).out).toContain('alice')
  })

  it("does not change another program's schema", async () => {
    await server.pool.query('create schema another; create table another.migrations_of_mine (id int)')
    expect((await run('maintenance verify --schema another')).said).toContain('schema another, has no tables')
    const { rows } = await server.pool.query(
      "select relname from pg_class where relnamespace = 'another'::regnamespace and relkind = 'r'",
    )
    expect(rows).toEqual([{ relname: 'migrations_of_mine' }])
    await server.pool.query('drop schema another cascade')
  })

  it('creates the tables for a command that writes, and then reads from them', async () => {
    expect(await run('accounts open alice --schema by_writing')).toMatchObject({
      exitCode: 0,
      said: expect.stringMatching(/^PostgreSQL .*, schema by_writing, has new tables\. .*\nalice is open\n$/),
    })
    expect((await run('accounts open alice --schema by_writing')).said).toBe('alice is open\n')
    expect((await run('accounts list', { COMPAT_ROUTER_SCHEMA: 'by_writing' })).out).toContain('alice')
    expect((await run('maintenance migrate --schema by_migrating')).exitCode).toBe(0)
    expect(await run('maintenance verify --schema by_migrating')).toMatchObject({ exitCode: 0 })
    expect(await made()).toEqual(['by_migrating', 'by_writing'])
  })
})
