import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inject } from 'vitest'
import { askDatabases } from './ask-databases.js'

export interface TestFile {
  readonly file: string
  remove(): void
}

/** A path for a database file. The worker that opens it has been built. */
export async function createTestFile(): Promise<TestFile> {
  await askDatabases(inject('databases'), '/worker')
  const folder = mkdtempSync(join(tmpdir(), 'compat-router-sqlite-'))
  return {
    file: join(folder, 'test.db'),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}
