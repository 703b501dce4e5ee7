import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { beforeEach, describe, expect, it } from 'vitest'
import { isLong } from '../helpers/long.js'
import { programFile } from '../helpers/program.js'
import { createTestFile, type TestFile } from '../helpers/sqlite.js'
import { READING } from './reading-commands.js'

const MAIN = new URL('../../src/cli/main.ts', import.meta.url)

describe('the command line without its SQLite file', () => {
  let testFile: TestFile
  beforeEach(async () => {
    testFile = await createTestFile()
    return () => testFile.remove()
  })

  /** Runs the program in the folder of the file. */
  async function run(args: string, env: NodeJS.ProcessEnv = {}) {
    const { DATABASE_URL: _, COMPAT_ROUTER_FILE: __, ...rest } = process.env
    const child = spawn(process.execPath, [await programFile(MAIN), ...args.split(' ')], {
      cwd: dirname(testFile.file),
      env: { ...rest, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const [out, said, [exitCode]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, 'close'),
    ])
    return { exitCode, out, said }
  }
  const made = () => readdirSync(dirname(testFile.file))

  it.each(isLong ? READING : READING.slice(0, 3))(
    '%s exits with 1, names the missing file and the remedy, and creates no file',
    async (args) => {
      const { exitCode, out, said } = await run(args)
      expect(said).toBe(
        `error: There is no SQLite file ${join(dirname(testFile.file), '.data/compat-router.db')}. Name another with --file or COMPAT_ROUTER_FILE, or a PostgreSQL database with DATABASE_URL; to create this one, run compat-router maintenance migrate with the same settings.\n`,
      )
      expect({ exitCode, out, made: made() }).toEqual({ exitCode: 1, out: '', made: [] })
    },
  )

  it('names the file given by --file or by the environment', async () => {
    expect((await run('--json maintenance verify', { COMPAT_ROUTER_FILE: testFile.file })).said).toContain(
      testFile.file,
    )
    expect((await run('accounts balance alice --file typo.db')).said).toContain('typo.db. Name another')
    expect((await run('maintenance verify', { COMPAT_ROUTER_FILE: '' })).said).toContain(
      'file must be the path of a file',
    )
    expect(made()).toEqual([])
  })

  it.each(['maintenance verify', 'accounts open alice'])(
    '%s shows no password if an address is given instead of a file',
    async (args) => {
      const { exitCode, out, said } = await run(args, {
        COMPAT_ROUTER_FILE: 'postgres://me:hunter2@db/credits',
      })
      expect({ exitCode, out }).toEqual({ exitCode: 1, out: '' })
      expect(said).toContain('file must be the path of a file')
      expect(said).not.toContain('hunter2')
      expect(made()).toEqual([])
    },
  )

  it('creates the file for a command that writes, and then reads from it', async () => {
    expect(await run('accounts open alice --file books/new.db')).toMatchObject({
      exitCode: 0,
      said: `${join(dirname(testFile.file), 'books/new.db')} is a new SQLite file. To use another, name it with --file or COMPAT_ROUTER_FILE, or a PostgreSQL database with DATABASE_URL.\nalice is open\n`,
    })
    expect((await run('accounts open alice --file books/new.db')).said).toBe('alice is open\n')
    expect(existsSync(join(dirname(testFile.file), 'books/new.db'))).toBe(true)
    expect((await run('accounts list --file books/new.db')).out).toContain('alice')
    expect(await run('maintenance verify --file books/new.db')).toMatchObject({
      exitCode: 0,
      out: 'The books are sound: every balance, hold and charge adds up.\n',
    })
    expect((await run('maintenance migrate')).exitCode).toBe(0)
    expect((await run('models list')).out).toBe('none\n')
  })
})
