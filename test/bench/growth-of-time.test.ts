import { afterEach, expect, it } from 'vitest'
import { BodyBlocks } from '../../src/operations/messages/reply/body-blocks.js'
import { growthOf, MOST_GROWTH } from './lib/growth-of-time.js'
import { READING_PATHS } from './lib/reading-paths.js'
import { TIME_PLANTS } from './lib/time-plants.js'

const CITATIONS = READING_PATHS.find(
  ({ name }) => name === 'citations of Claude in one body, for /messages, to a body',
)!
const { delta } = BodyBlocks.prototype

afterEach(() => {
  BodyBlocks.prototype.delta = delta
})

it('a call with four times the citations takes no more than six times as long', {
  timeout: 120_000,
}, async () => {
  expect((await growthOf(CITATIONS)).growth).toBeLessThan(MOST_GROWTH)
})

it('a planted copy of all citations for each citation is found by the growth of its time', {
  timeout: 120_000,
}, async () => {
  TIME_PLANTS.citations!()
  expect((await growthOf({ ...CITATIONS, most: 600 })).growth).toBeGreaterThan(MOST_GROWTH)
})
