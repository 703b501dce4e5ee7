import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createTextLog } from '../../src/memory/text-log.js'

it('has every text at its position, through any coming and going, and nothing else', () => {
  const text = fc.string({ unit: 'binary' }).map((any) => JSON.stringify(any))
  const steps = fc.array(fc.record({ texts: fc.array(text, { maxLength: 80 }), shifts: fc.nat(60) }), {
    maxLength: 12,
  })
  fc.assert(
    fc.property(steps, (rounds) => {
      const log = createTextLog()
      const all: string[] = []
      let gone = 0
      for (const { texts, shifts } of rounds) {
        for (const each of texts) log.push(each)
        all.push(...texts)
        for (let count = 0; count < shifts; count++) log.shift()
        gone = Math.min(gone + shifts, all.length)
        expect([log.start, log.end]).toEqual([gone, all.length])
      }
      expect(all.map((_, position) => log.at(position))).toEqual(
        all.map((each, position) => (position < gone ? undefined : each)),
      )
      expect([log.at(-1), log.at(all.length)]).toEqual([undefined, undefined])
    }),
    { seed: 20_261_122, numRuns: 60 },
  )
})
