import { describe, expect, it } from 'vitest'
import * as library from '../../src/index.js'
import { FAULTS } from './catalogue.js'
import { playFault } from './fault.js'
import { ROWS, type Row } from './rows.js'

for (const row of Object.keys(ROWS) as Row[]) {
  describe(`in the row: ${ROWS[row]}`, () => {
    for (const fault of FAULTS.filter((each) => each.row === row)) {
      const reply = fault.stream ? 'streamed' : 'as JSON'
      it(`charges ${fault.due} if ${fault.name}, ${reply}`, async () => {
        const { charged, due } = await playFault(library, fault)
        expect(charged).toBe(due)
      })
    }
  })
}
