import { afterAll, beforeAll, expect, it } from 'vitest'
import { isLong } from '../../helpers/long.js'
import { lineOf, Player } from './play.js'

const COUNT = isLong ? 500 : 60
let player: Player

beforeAll(async () => {
  player = await Player.start()
})
afterAll(() => player.close())

it.each(isLong ? ['1', '2', '3'] : ['1'])(
  'conversations that were changed at random reach every kind of provider whole (seed %s)',
  async (seed) => {
    const faults: string[] = []
    const seeds = Array.from({ length: COUNT }, (_, place) => `${seed}.${place}`)
    const cells = await player.play(seeds, (failure) => {
      faults.push(lineOf(failure))
    })
    expect(faults).toEqual([])
    expect(cells).toBeGreaterThan(COUNT)
  },
  3_600_000,
)
