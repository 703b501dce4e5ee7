import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isLong } from '../helpers/long.js'
import { type HonestBody, honestBodies } from './honest-bodies.js'
import { PLANTS } from './plants.js'
import { planWorld, runWorld } from './run.js'
import { Servers } from './servers.js'
import { countTokens } from './tokens.js'

/** A world has about 80 calls. */
const WORLDS = isLong ? 20 : 5
const MOST_WORLDS_FOR_A_PLANT = 30
const FIRST_SEED_OF_PLANTS = 20_260_101
const LONG_MS = 180_000

const servers = new Servers()
let honest: readonly HonestBody[]

beforeAll(async () => {
  await servers.start()
  honest = await honestBodies()
})
afterAll(() => servers.close())

describe('simulated callers that try to pay less', () => {
  const first = Math.floor(Date.now() / 1_000)

  it(
    `pay the provider's bill or their hold, and change nothing for others, from seed ${first} on`,
    async () => {
      const failed: string[] = []
      let charged = 0
      for (let index = 0; index < WORLDS; index++) {
        const { violations, ...world } = await runWorld(planWorld(String(first + index), honest), servers)
        charged += world.charged
        for (const { call, kind, message } of violations) {
          failed.push(`npm run callers -- --calls 1 --seed ${world.seed}: ${kind}, ${call}: ${message}`)
        }
      }
      expect(failed).toEqual([])
      expect(charged).toBeGreaterThan(WORLDS * 20)
    },
    LONG_MS,
  )

  it('are planned identically for the same seed', () => {
    expect(planWorld('7', honest)).toEqual(planWorld('7', honest))
  })
})

describe.runIf(isLong)('a planted hole in charging', () => {
  it.each(PLANTS.map(({ name }) => name))(
    'is found: %s',
    async (name) => {
      const plant = PLANTS.find((one) => one.name === name)!
      for (let index = 0; index < MOST_WORLDS_FOR_A_PLANT; index++) {
        const world = planWorld(String(FIRST_SEED_OF_PLANTS + index), honest)
        const { violations } = await runWorld(world, servers, plant)
        const found = violations.find(({ kind }) => plant.breaks.includes(kind))
        if (found === undefined) continue
        const without = await runWorld(world, servers)
        expect(without.violations.filter(({ kind }) => plant.breaks.includes(kind))).toEqual([])
        return
      }
      expect.fail(`${name} was not found in ${MOST_WORLDS_FOR_A_PLANT} worlds`)
    },
    LONG_MS,
  )
})

describe('the scripted provider of the simulated callers', () => {
  it.each([
    ['o200k', 'hello world', 2],
    ['cl100k', '你好', 2],
    ['llama3', 'hello world', 2],
    ['bytes-after-nfkc', 'ﬃ', 1],
    ['bytes-after-nfkc', 'ሁሉም', 9],
  ] as const)('counts tokens by %s', (tokenizer, text, tokens) => {
    expect(countTokens(tokenizer, text)).toBe(tokens)
  })
})
