import { beforeAll, describe, expect, it } from 'vitest'
import { type ApiReport, readApi, readReports } from './api-report.js'

const SLOW_MS = 120_000
const ADVICE =
  'The public types have changed. If they are meant to, write the reports again with: npm run api'

describe('the public surface of the package', () => {
  let imported: ApiReport
  let required: ApiReport
  beforeAll(async () => {
    imported = await readApi('import')
    required = await readApi('require')
  }, SLOW_MS)

  it('matches the reports in test/package/api', async () => {
    expect(Object.fromEntries(await readReports()), ADVICE).toEqual(Object.fromEntries(imported.texts))
  })

  it('is the same in ESM and in CommonJS', () => {
    expect(Object.fromEntries(required.texts)).toEqual(Object.fromEntries(imported.texts))
  })

  it('uses no type that no entry exports', () => {
    expect(imported.hiddenTypes, 'Export each type from the entry that uses it').toEqual([])
  })
})
