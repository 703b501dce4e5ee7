import { mkdir, mkdtemp, rm, symlink } from 'node:fs/promises'
import { delimiter, dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Application } from '../frameworks/application.js'
import { APPS, SERVERS } from '../frameworks/apps.js'
import { CHECKS } from '../frameworks/suite.js'
import { cellsOf, checksOf, headIsShown, shownRows } from '../frameworks/table.js'

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

// What the others pass is seen by npm run test:frameworks, which installs them.
describe('the table of the documents', () => {
  it('has a column for every check, and a row for every host with the checks that it must pass', () => {
    expect(headIsShown()).toBe(true)
    const rows = APPS.map((app) => [app.title, ...cellsOf(checksOf(app))])
    expect(shownRows().map(([title, _version, ...cells]) => [title, ...cells])).toEqual(rows)
  })
})
