import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import Database from 'libsql'
import { beforeEach, describe, expect, it } from 'vitest'
import { createTestFile, type TestFile } from '../helpers/sqlite.js'
import { READING } from './reading-commands.js'
import { runCommand } from './run-command.js'

describe('the command line if a SQLite file has no tables', () => {
  let place: TestFile
  beforeEach(async () => {
    place = await createTestFile()
    return () => place.remove()
  })

  const run = (args: string) => runCommand([...args.split(' '), '--file', place.file], {})

  it.each(READING)('%s ends with 1, says what to do, and leaves an empty file empty', async (args) => {
    writeFileSync(place.file, '')
    expect(await run(args)).toEqual({
      exitCode: 1,
      out: '',
      said: `error: The SQLite file ${place.file} has no tables of compat-router. Name another with --file or COMPAT_ROUTER_FILE, or a PostgreSQL database with DATABASE_URL; to make them in this one, run compat-router migrate with the same settings.\n`,
    })
    expect(readFileSync(place.file)).toHaveLength(0)
  })

  it("leaves another program's database as it is", async () => {
    const other = new Database(place.file)
    other.exec('create table migrations (id integer)')
    other.close()
    const before = readFileSync(place.file)
    expect((await run('verify')).said).toContain('has no tables of compat-router')
    expect(readFileSync(place.file)).toEqual(before)
    expect(readdirSync(dirname(place.file))).toHaveLength(1)
  })

  it('still says of a file that is no database that it is none', async () => {
    writeFileSync(place.file, 'Not a database. '.repeat(1_000))
    expect(await run('verify')).toMatchObject({
      exitCode: 1,
      said: `error: The SQLite file ${place.file} cannot be opened: it is not a database\n`,
    })
  })

  it('makes the tables in it for a command that writes, and reads them from then on', async () => {
    writeFileSync(place.file, '')
    expect(await run('migrate')).toMatchObject({ exitCode: 0 })
    expect(await run('verify')).toMatchObject({ exitCode: 0 })
  })
})
