import { describe, expect, it } from 'vitest'
import * as library from '../../src/index.js'
import { FAULTS } from './catalogue.js'
import { doorsOf, playFault } from './fault.js'
import { ROWS, type Row } from './rows.js'

for (const row of Object.keys(ROWS) as Row[]) {
  describe(`in the row: ${ROWS[row]}`, () => {
    for (const fault of FAULTS.filter((each) => each.row === row)) {
      const reply = fault.stream ? 'streamed' : 'as JSON'
      const doors = doorsOf(fault)
      if (doors.length === 0) {
        it(`charges ${fault.due} if ${fault.name}, ${reply}`, async () => {
          const { charged, due } = await playFault(library, fault)
          expect(charged).toBe(due)
        })
      }
      for (const door of doors) {
        it(`charges ${fault.due} if ${fault.name}, ${reply}, through ${door.name}`, async () => {
          const { charged, due } = await playFault(library, fault, door)
          expect(charged).toBe(due)
        })
      }
    }
  })
}
