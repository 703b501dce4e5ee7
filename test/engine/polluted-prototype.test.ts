import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, it } from 'vitest'
import { programFile } from '../helpers/program.js'

const PROGRAM = new URL('./polluted-program.ts', import.meta.url)
const run = promisify(execFile)

const planted: Readonly<Record<string, unknown>> = {
  prices: { input: '0', output: '0' },
  cachedInput: '0',
  tiers: [{ above: 0, input: '0', output: '0' }],
  audioInput: 5,
  imageOutput: 5,
  byok: 'only',
  enabled: false,
  secret: 'sk-stolen',
  supportedParameters: ['x'],
  contextLength: 1,
  maxOutputTokens: 1,
  weight: 0,
  headers: { 'x-planted': '1' },
  account: 'thief',
  allowedModels: [],
  flat: '1',
  expiresAt: 1_000_000_000_000,
}

type Outcomes = readonly (readonly [clean: unknown[], polluted: unknown[]])[]

describe('a property that a dependency adds to Object.prototype', () => {
  let outcomes: Readonly<Record<string, Outcomes>>
  beforeAll(async () => {
    const { stdout } = await run(process.execPath, [await programFile(PROGRAM), JSON.stringify(planted)])
    outcomes = JSON.parse(stdout)
  })

  it.each(Object.keys(planted))('as %s changes no call, charge or list', (name) => {
    expect(outcomes[name]).toHaveLength(2)
    for (const [clean, polluted] of outcomes[name]!) {
      expect(clean.slice(0, 2)).toMatchObject([200, { cost: expect.any(Number) }])
      expect(polluted).toEqual(clean)
    }
  })
})
