import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { codeSpans, tableUnder } from '../helpers/markdown.js'
import { Application } from './application.js'
import { BUNDLES } from './bundles.js'
import { CHARGE, CHECKS, EARLY_LEAVE, STREAM } from './suite.js'

const page = await readFile(join(import.meta.dirname, '../../docs/frameworks.md'), 'utf8')
const rows = tableUnder(page, 'Bundlers')

it('the documents have a command for every bundler', () => {
  expect(rows.map(([title]) => title)).toEqual(BUNDLES.map(({ title }) => title))
})

describe.each(BUNDLES.map((bundle, index) => [bundle.title, bundle, index] as const))(
  'a server in one file of %s, where no package is installed',
  (_, bundle, index) => {
    let application: Application
    beforeAll(async () => {
      const command = codeSpans(rows[index]![1]!)[0]!
      application = await Application.start({ ...bundle, build: [['sh', '-c', command]] }, inject('env'))
    })
    afterAll(() => application?.close())

    it.each([CHARGE, STREAM, EARLY_LEAVE])('%s', (name) => CHECKS[name]!(application))
  },
)
