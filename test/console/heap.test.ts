import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { expect, it, onTestFinished } from 'vitest'
import { createAdmin } from '../../src/admin/index.js'
import type { ErrorReply, ReplyOf } from '../../src/console/protocol.js'
import { sqliteStores } from '../../src/sqlite/index.js'
import { programFile } from '../helpers/program.js'
import { createTestFile } from '../helpers/sqlite.js'
import { ask } from './console-bench.js'

const [KEYS, LISTS] = [25, 12]
const MODELS = Array.from({ length: 60_000 }, (_, index) => `m/${index}`)

/** Starts a console in a process with a heap of 512 MB. Returns its origin, and its exit code if it has ended. */
async function startConsole(file: string) {
  const program = await programFile(new URL('heap-program.ts', import.meta.url))
  const child = spawn(process.execPath, ['--max-old-space-size=512', program, file], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const closed = once(child, 'close')
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await closed
  })
  const [origin] = (await Promise.race([
    once(createInterface(child.stdout), 'line'),
    closed.then(() => Promise.reject(new Error(`The console ended with ${child.exitCode}`))),
  ])) as [string]
  return { origin, child }
}

it('a console with a heap of 512 MB outlives a user who lists 25 keys with 60,000 models twelve times at once', async () => {
  const { file, remove } = await createTestFile()
  onTestFinished(remove)
  const stores = sqliteStores({ file })
  await stores.ready()
  const admin = createAdmin(stores)
  await admin.accounts.open('alice')
  const keys: string[] = []
  for (let index = 0; index < KEYS; index++) {
    keys.push((await admin.keys.issue({ account: 'alice', allowedModels: [] })).credentialId)
  }
  await stores.database.all({
    text: 'update {credentials} set allowed_models = ?1',
    parameters: [JSON.stringify(MODELS)],
  })
  await stores.close()

  const { origin, child } = await startConsole(file)
  const issue = await ask<ErrorReply>(`${origin}/api/keys/issue`, {
    method: 'POST',
    headers: { origin, 'content-type': 'application/json' },
    body: JSON.stringify({ account: 'alice', allowedModels: MODELS.slice(0, 201) }),
  })
  expect([issue.status, issue.json.error]).toMatchObject([400, { field: 'allowedModels' }])

  const list = (after?: string) =>
    ask<ReplyOf<'keys'>>(`${origin}/api/keys?shown=all${after === undefined ? '' : `&after=${after}`}`, {})
  const pages = await Promise.all(Array.from({ length: LISTS }, () => list()))
  expect(pages.map(({ status }) => status)).toEqual(Array(LISTS).fill(200))
  const found: string[] = []
  for (let { json } = pages[0]!; ; { json } = await list(json.next)) {
    found.push(...json.credentials.map(({ credentialId }) => credentialId))
    if (json.next === undefined) break
  }
  // The list is in the order of ids, which is random within a millisecond.
  expect(found).toEqual(keys.sort().reverse())
  expect(child.exitCode).toBe(null)
}, 120_000)
