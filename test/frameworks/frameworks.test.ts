import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { tableUnder } from '../helpers/markdown.js'
import { Application } from './application.js'
import { APPS, type App } from './apps.js'
import { CHECKS } from './suite.js'

const names = Object.keys(CHECKS)
const checksOf = ({ without = [] }: App) => names.filter((name) => !without.includes(name))
const passed = new Map<App, number>()

describe.each(APPS.map((app) => [app.title, app] as const))('%s', (_, app) => {
  let application: Application
  beforeAll(async () => {
    application = await Application.start(app, inject('env'))
  })
  afterAll(() => application?.close())

  it.each(checksOf(app))('%s', async (name) => {
    await CHECKS[name]!(application)
    passed.set(app, (passed.get(app) ?? 0) + 1)
  })
})

describe('the table of the documents', () => {
  it('has what passed, and the versions that are installed', () => {
    const rows = APPS.map((app) => [app.title, versionOf(app), `${passed.get(app) ?? 0} of ${names.length}`])
    console.log(rows.map((cells) => `| ${cells.join(' | ')} |`).join('\n'))
    const page = readFileSync(join(import.meta.dirname, '../../docs/frameworks.md'), 'utf8')
    const shown = tableUnder(page, 'What is tested')
    // A filter leaves out whole frameworks.
    const ran = rows.filter((_, index) => passed.has(APPS[index]!))
    expect(shown.filter(([title]) => ran.some(([other]) => other === title))).toEqual(ran)
    if (ran.length === rows.length) expect(shown).toHaveLength(rows.length)
  })
})

function versionOf(app: App): string {
  const file = join(import.meta.dirname, 'node_modules', app.package, 'package.json')
  return JSON.parse(readFileSync(file, 'utf8')).version
}
