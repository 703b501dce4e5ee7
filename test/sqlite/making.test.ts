import type * as Fs from 'node:fs'
import { readdirSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { expect, it, onTestFinished, vi } from 'vitest'
import { openConnection } from '../../src/sqlite/connection.js'
import { createTestFile } from '../helpers/sqlite.js'

/** Files that appear to be missing, as if they were created right after the check. */
const unseen = vi.hoisted(() => new Set<unknown>())

vi.mock('node:fs', async (importOriginal) => {
  const fs = await importOriginal<typeof Fs>()
  const statSync = (path: string, options: object) =>
    unseen.has(path) ? undefined : fs.statSync(path, options)
  return { ...fs, statSync }
})

it('creating a SQLite file opens the one that another process creates at the same time, and leaves no other', async () => {
  const { file, remove } = await createTestFile()
  onTestFinished(remove)
  const first = openConnection(file)
  first.exec('create table kept (id integer)')
  unseen.add(file)
  const second = openConnection(file)
  expect(second.prepare('select count(*) from kept').first([])).toEqual([0n])
  expect(readdirSync(dirname(file)).sort()).toEqual(['', '-shm', '-wal'].map((end) => basename(file) + end))
  for (const connection of [first, second]) connection.close()
})
