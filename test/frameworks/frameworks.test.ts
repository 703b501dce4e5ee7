import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { Application } from './application.js'
import { APPS, type App } from './apps.js'
import { CHECKS } from './suite.js'
import { cellsOf, checksOf, HEAD, shownRows } from './table.js'

const passed = new Map<App, string[]>()

describe.each(APPS.map((app) => [app.title, app] as const))('%s', (_, app) => {
  let application: Application
  beforeAll(async () => {
    application = await Application.start(app, inject('env'))
    passed.set(app, [])
  })
  afterAll(() => application?.close())

  it.each(checksOf(app))('%s', async (name) => {
    await CHECKS[name]!(application)
    passed.get(app)!.push(name)
  })
})

describe('the table of the documents', () => {
  it('has what passed, and the versions that are installed', () => {
    // A filter leaves out whole frameworks.
    const ran = [...passed].map(([app, names]) => [app.title, versionOf(app), ...cellsOf(names)])
    console.log([HEAD, ...ran.map((cells) => `| ${cells.join(' | ')} |`)].join('\n'))
    expect(shownRows().filter(([title]) => ran.some(([other]) => other === title))).toEqual(ran)
  })
})

/** Packages of servers without a build may be those of the repository. */
function versionOf({ package: name }: App): string {
  if (name === undefined) return ''
  const files = ['.', '../..'].map((folder) =>
    join(import.meta.dirname, folder, 'node_modules', name, 'package.json'),
  )
  return JSON.parse(readFileSync(files.find((file) => existsSync(file))!, 'utf8')).version
}
