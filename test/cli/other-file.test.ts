import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import Database from 'libsql'
import { beforeEach, describe, expect, it } from 'vitest'
import { createTestFile, type TestFile } from '../helpers/sqlite.js'
import { READING } from './reading-commands.js'
import { runCommand } from './run-command.js'

describe('the command line on a SQLite file without tables', () => {
  let testFile: TestFile
  beforeEach(async () => {
    testFile = await createTestFile()
    return () => testFile.remove()
  })

  const run = (args: string) => runCommand([...args.split(' '), '--file', testFile.file], {})

  it.each(READING)('%s exits with 1, names the remedy, and leaves an empty file empty', async (args) => {
    writeFileSync(testFile.file, '')
    expect(await run(args)).toEqual({
      exitCode: 1,
      out: '',
      said: `error: The SQLite file ${testFile.file} has no tables of compat-router. Name another with --file or COMPAT_ROUTER_FILE, or a PostgreSQL database with DATABASE_URL; to create them in this one, run compat-router maintenance migrate with the same settings.\n`,
    })
    expect(readFileSync(testFile.file)).toHaveLength(0)
  })

  it("does not change another program's database", async () => {
    const other = new Database(testFile.file)
    other.exec('create table migrations (id integer)')
    other.close()
    const before = readFileSync(testFile.file)
    expect((await run('maintenance verify')).said).toContain('has no tables of compat-router')
    expect(readFileSync(testFile.file)).toEqual(before)
    expect(readdirSync(dirname(testFile.file))).toHaveLength(1)
  })

  it('reports a file that is not a SQLite database', async () => {
    writeFileSync(testFile.file, 'Not a database. '.repeat(1_000))
    expect(await run('maintenance verify')).toMatchObject({
      exitCode: 1,
      said: `error: The SQLite file ${testFile.file} cannot be opened: it is not a database\n`,
    })
  })

  it('creates the tables for a command that writes, and then reads from them', async () => {
    writeFileSync(testFile.file, '')
    expect(await run('maintenance migrate')).toMatchObject({ exitCode: 0 })
    expect(await run('maintenance verify')).toMatchObject({ exitCode: 0 })
  })
})
