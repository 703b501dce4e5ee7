import { mkdir, mkdtemp, rm, symlink } from 'node:fs/promises'
import { createServer } from 'node:http'
import { delimiter, dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type CompatHandler, createCompatHandler } from '../../src/handler.js'
import {
  memoryCatalogue,
  memoryCredentials,
  memoryLedger,
  memoryProviders,
  openaiCompatible,
} from '../../src/index.js'
import { Application } from '../frameworks/application.js'
import { APPS, SERVERS } from '../frameworks/apps.js'
import { CHECKS } from '../frameworks/suite.js'
import { cellsOf, checksOf, headIsShown, shownRows } from '../frameworks/table.js'
import { bridge } from '../helpers/fetch-hosts.js'
import { listenHttp, MOUNT, type MountedHost } from '../helpers/listen-http.js'
import { type ScriptedUpstream, startScriptedUpstream } from '../helpers/scripted-upstream.js'

const ROOT = join(import.meta.dirname, '../..')
const env = {
  HOME: process.env.HOME ?? '',
  PATH: [dirname(process.execPath), process.env.PATH].join(delimiter),
}
let folders: string

beforeAll(async () => {
  const blocks = join(ROOT, 'test/.blocks')
  await mkdir(blocks, { recursive: true })
  folders = await mkdtemp(join(blocks, 'servers-'))
  await mkdir(join(folders, 'node_modules'))
  await symlink(ROOT, join(folders, 'node_modules/compat-router'))
})
afterAll(() => rm(folders, { recursive: true }))

describe.each(SERVERS.map((app) => [app.title, app] as const))(
  'the lines of the documents for %s',
  (_, app) => {
    let application: Application
    beforeAll(async () => {
      application = await Application.start(app, env, folders)
    })
    afterAll(() => application?.close())

    it.each(checksOf(app))('%s', (name) => CHECKS[name]!(application))
  },
)

describe("the fetch handler behind Node's own Request and Response", () => {
  let upstream: ScriptedUpstream
  let host: MountedHost
  let handler: CompatHandler
  beforeAll(async () => {
    upstream = await startScriptedUpstream()
    const adapter = openaiCompatible({ baseUrl: upstream.baseUrl })
    handler = createCompatHandler({
      credentials: memoryCredentials({ 'sk-demo': { kind: 'api-key', account: 'alice' } }),
      catalogue: memoryCatalogue([{ id: 'acme/fast', prices: { input: '1000000', output: '2000000' } }]),
      ledger: memoryLedger({ alice: '1000000000' }),
      providers: memoryProviders([{ id: 'p', models: { 'acme/fast': 'm' }, adapter, onDisconnect: 'abort' }]),
      basePath: MOUNT,
    })
    const listener = bridge(
      async (request) =>
        (await handler(request, { outside: 'pass' })) ?? new Response('Not found', { status: 404 }),
    )
    host = await listenHttp(createServer(listener))
  })
  afterAll(async () => {
    await handler?.close({ graceMs: 0 })
    await host?.close()
    await upstream?.close()
  })

  it.each(Object.entries(CHECKS))('%s', (_, check) => check({ baseUrl: host.baseUrl, upstream }))
})

// What the others pass is seen by npm run test:frameworks, which installs them.
describe('the table of the documents', () => {
  it('has a column for every check, and a row for every host with the checks that it must pass', () => {
    expect(headIsShown()).toBe(true)
    const rows = APPS.map((app) => [app.title, ...cellsOf(checksOf(app))])
    expect(shownRows().map(([title, _version, ...cells]) => [title, ...cells])).toEqual(rows)
  })
})
