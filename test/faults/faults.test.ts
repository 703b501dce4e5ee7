import { describe, expect, it } from 'vitest'
import * as library from '../../src/index.js'
import { FAULTS } from './catalogue.js'
import { apisOf, playFault } from './fault.js'
import { ROWS, type Row } from './rows.js'

for (const row of Object.keys(ROWS) as Row[]) {
  describe(`in the row: ${ROWS[row]}`, () => {
    for (const fault of FAULTS.filter((each) => each.row === row)) {
      const reply = fault.stream ? 'streamed' : 'as JSON'
      const apis = apisOf(fault)
      if (apis.length === 0) {
        it(`charges ${fault.due} if ${fault.name}, ${reply}`, async () => {
          const { charged, due } = await playFault(library, fault)
          expect(charged).toBe(due)
        })
      }
      for (const api of apis) {
        it(`charges ${fault.due} if ${fault.name}, ${reply}, through ${api.name}`, async () => {
          const { charged, due } = await playFault(library, fault, api)
          expect(charged).toBe(due)
        })
      }
    }
  })
}
