import { describe, expect, it } from 'vitest'
import { type RequestKind, STEPS } from '../../src/engine/admission/admit.js'

describe('admission', () => {
  it('lists each step once, with the kinds of request that pass it', () => {
    const both: RequestKind[] = ['charged', 'counted']
    expect(STEPS.map(({ kinds, name }) => [name, kinds])).toEqual([
      ['credential', both],
      ['place', ['charged']],
      ['visit', ['counted']],
      ['limiter', both],
      ['scope', both],
      ['memory', both],
      ['body', both],
      ['session', ['charged']],
      ['model', both],
      ['operation', both],
      ['allowed model', both],
      ['parameters', both],
    ])
  })
})
