import { spawnSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import Database from 'libsql'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createAdmin } from '../../src/admin/index.js'
import { openConnection } from '../../src/sqlite/connection.js'
import { sqliteStores } from '../../src/sqlite/index.js'
import { createWorkerClient } from '../../src/sqlite/worker-client.js'
import { checkLedger } from '../helpers/check-ledger.js'
import { context, createHold, createSettle } from '../helpers/ledger-requests.js'
import { openAccounts } from '../helpers/open-accounts.js'
import { programFile } from '../helpers/program.js'
import { createTestFile, type TestFile } from '../helpers/sqlite.js'

describe('a SQLite file', () => {
  let place: TestFile
  beforeAll(async () => {
    place = await createTestFile()
  })
  afterAll(() => place.remove())

  it('is created with its folder, for its owner only, in WAL mode', async () => {
    const file = `${place.file}-folder/deep/credits.db`
    const stores = sqliteStores({ file })
    await stores.ready()
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(statSync(`${place.file}-folder`).mode & 0o777).toBe(0o700)
    const [row] = await stores.database.all({ text: 'pragma journal_mode' })
    expect(row?.journal_mode).toBe('wal')
    const [sync] = await stores.database.all({ text: 'pragma synchronous' })
    expect(sync?.synchronous).toBe(2n)
    await stores.close()
    await stores.close()
    await expect(stores.ledger.balance('alice', context)).rejects.toThrow('The store is closed')
    await expect(stores.ledger.hold(createHold('alice', 1n), context)).rejects.toThrow('The store is closed')
  })

  it('is created for its owner only, even through a link', () => {
    const folder = `${place.file}-volume`
    mkdirSync(`${folder}/links`, { recursive: true })
    symlinkSync(`${folder}/links`, `${place.file}-links`)
    // Relative to the real folder of the link, not to the path by which it is opened.
    symlinkSync('../made/credits.db', `${folder}/links/credits.db`)
    const file = `${folder}/made/credits.db`
    const connection = openConnection(`${place.file}-links/credits.db`)
    connection.exec('create table one (id integer)')
    expect([file, `${file}-wal`].map((name) => statSync(name).mode & 0o777)).toEqual([0o600, 0o600])
    connection.close()
    const circle = `${place.file}-circle`
    symlinkSync(circle, circle)
    expect(() => openConnection(circle)).toThrow('ELOOP')
  })

  it('is created once by several processes that start at the same time', async () => {
    const file = `${place.file}-race`
    const all = Array.from({ length: 6 }, () => sqliteStores({ file }))
    await Promise.all(all.map((stores) => stores.ready()))
    const rows = await all[0]!.database.all({ text: 'select version from {migrations}' })
    expect(rows).toEqual([{ version: 1n }])
    await Promise.all(all.map((stores) => stores.close()))
  })

  it('shows all writes to other processes, even after the first of them has exited', async () => {
    const file = `${place.file}-shared`
    const stores = sqliteStores({ file })
    const admin = createAdmin(stores)
    const seenElsewhere = (): string => {
      const script = `const database = new (require('libsql'))(process.argv[1])
        const row = database.prepare("select posted from compat_accounts where id = 'alice'").get()
        database.close()
        process.stdout.write(String(row.posted))`
      const { stdout, stderr } = spawnSync(process.execPath, ['-e', script, file], { encoding: 'utf8' })
      expect(stderr).toBe('')
      return stdout
    }
    // Both threads now have the file open.
    await admin.accounts.credit({ account: 'alice', amount: '1' })
    await stores.ledger.hold(createHold('alice', 1n), context)
    expect(seenElsewhere()).toBe('1000000000')
    await admin.accounts.credit({ account: 'alice', amount: '1' })
    expect(seenElsewhere()).toBe('2000000000')
    const { holdId } = createHold('alice', 1n)
    await stores.ledger.settle(createSettle(holdId, 'alice', 500_000_000n), context)
    expect(seenElsewhere()).toBe('1500000000')
    await stores.close()
  })

  it('is refused if a later release created it', async () => {
    const file = `${place.file}-newer`
    const first = sqliteStores({ file })
    await first.database.all({
      text: "insert into {migrations} (version, name, applied_at) values (999, 'later', 0)",
    })
    await first.close()
    const stores = sqliteStores({ file })
    const message = `${file} has schema version 999, and this release of compat-router knows up to 1: upgrade compat-router`
    await expect(stores.ready()).rejects.toThrow(message)
    await expect(stores.ledger.hold(createHold('alice', 1n), context)).rejects.toThrow(message)
    await stores.close()
  })

  it('stays usable for a process that opened it before a later release migrated it, even in new threads', async () => {
    const file = `${place.file}-upgraded`
    const stores = sqliteStores({ file })
    await openAccounts(stores.database, { alice: '1' })
    await stores.database.all({
      text: "insert into {migrations} (version, name, applied_at) values (999, 'later', 0)",
    })
    expect(await stores.ledger.hold(createHold('alice', 1n), context)).toMatchObject({ ok: true })
    expect(await createAdmin(stores).reports.spend({ by: 'day' })).toEqual([])
    await stores.close()
  })

  it('that cannot be opened rejects every call, and each call tries again', async () => {
    const stores = sqliteStores({ file: '/dev/null/credits.db' })
    await expect(stores.ready()).rejects.toThrow()
    await expect(stores.ledger.hold(createHold('alice', 1n), context)).rejects.toThrow()
    await stores.close()
    for (const bad of ['', ':memory:', 'file:credits.db', 'libsql://host', 'postgres://me:secret@host/db']) {
      expect(() => sqliteStores({ file: bad })).toThrow('sqliteStores: file must be the path of a file')
    }
  })

  it('that is a folder is reported as one', async () => {
    const folder = `${place.file}-is-a-folder`
    mkdirSync(folder)
    const stores = sqliteStores({ file: folder })
    await expect(stores.ready()).rejects.toThrow(`The SQLite file ${folder} cannot be opened: it is a folder`)
    await stores.close()
  })

  it.skipIf(process.getuid?.() === 0)('that may not be read is reported as forbidden', async () => {
    const file = `${place.file}-forbidden`
    writeFileSync(file, '', { mode: 0 })
    const stores = sqliteStores({ file })
    await expect(stores.ready()).rejects.toThrow(`${file} cannot be opened: EACCES: permission denied`)
    await stores.close()
  })

  it('is opened again by the next call after its thread has died', async () => {
    const client = createWorkerClient(`${place.file}-thread`, { isUpToDate: false })
    const look = () => client.ask({ kind: 'batch', statements: [{ text: 'select 1 as one' }] })
    expect(await look()).toEqual([[{ one: 1n }]])
    await expect(client.ask(undefined as never)).rejects.toThrow()
    // Questions are rejected until the thread has exited.
    await expect.poll(() => look().catch(() => 'gone')).toEqual([[{ one: 1n }]])
    await client.close()
  })

  it('reports why a transaction was rolled back by SQLite, and runs the next one', () => {
    const connection = openConnection(`${place.file}-ended`)
    const failing = () =>
      connection.transaction(() => {
        connection.exec('rollback')
        throw new Error('The disk is full')
      })
    expect(failing).toThrow('The disk is full')
    expect(connection.transaction(() => 'done')).toBe('done')
    connection.close()
  })

  it('stays the same if the process changes its working directory', async () => {
    const [here, there] = ['here', 'there'].map((name) => `${place.file}-${name}`)
    for (const folder of [here!, there!]) mkdirSync(folder)
    const start = process.cwd()
    process.chdir(here!)
    const stores = sqliteStores({ file: 'credits.db' })
    try {
      await openAccounts(stores.database, { alice: '1' })
      process.chdir(there!)
      expect(await stores.ledger.hold(createHold('alice', 1n), context)).toEqual({ ok: true })
    } finally {
      process.chdir(start)
    }
    expect(readdirSync(there!)).toEqual([])
    await stores.close()
  })

  it.skipIf(process.platform !== 'linux')('that is not a database leaves no descriptor open', () => {
    const file = `${place.file}-text`
    writeFileSync(file, 'Not a database. '.repeat(1_000))
    for (let index = 0; index < 5; index++)
      expect(() => openConnection(file)).toThrow(`${file} cannot be opened: it is not a database`)
    const open = readdirSync('/proc/self/fd').filter((name) => {
      const path = `/proc/self/fd/${name}`
      return existsSync(path) && readlinkSync(path) === file
    })
    expect(open).toEqual([])
  })

  it('that another process has locked makes calls wait until it is unlocked', async () => {
    const file = `${place.file}-locked`
    const stores = sqliteStores({ file })
    await openAccounts(stores.database, { alice: '1' })
    await stores.ledger.hold(createHold('alice', 1n), context)
    const other = new Database(file)
    other.exec('begin immediate')
    let isHeld = false
    const held = Promise.resolve(stores.ledger.hold(createHold('alice', 1n), context)).then((result) => {
      isHeld = true
      return result
    })
    // A writer does not block readers.
    expect(await stores.ledger.balance('alice', context)).toMatchObject({ held: 1n })
    expect(isHeld).toBe(false)
    other.exec('commit')
    other.close()
    expect(await held).toEqual({ ok: true })
    await stores.close()
  })

  it('on a full disk refuses new entries, and loses none that it acknowledged', async () => {
    const file = `${place.file}-full`
    const script = await programFile(new URL('../helpers/fill-disk.ts', import.meta.url))
    const { stdout, stderr } = spawnSync(
      'bash',
      // A limit on file size fails a write like a full disk. Its signal must not end the process.
      ['-c', `trap '' XFSZ; ulimit -f 2000; exec "${process.execPath}" "${script}" "${file}"`],
      { encoding: 'utf8' },
    )
    const lines = stdout.split('\n').filter((line) => line !== '')
    const acknowledged = lines.filter((line) => /^[0-9a-f]{32}$/.test(line))
    expect(stderr).toBe('')
    expect(acknowledged.length).toBeGreaterThan(20)
    expect(lines.at(-1)).toMatch(/^refused SQLITE_/)
    const stores = sqliteStores({ file })
    await checkLedger(stores, acknowledged, 10n ** 9n)
    const hold = createHold('alice', 1n)
    expect(await stores.ledger.hold(hold, context)).toEqual({ ok: true })
    await stores.ledger.settle(createSettle(hold.holdId, 'alice', 1n), context)
    expect(await createAdmin(stores).maintenance.verify()).toEqual([])
    await stores.close()
  })
})
