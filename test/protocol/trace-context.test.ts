import { describe, expect, it } from 'vitest'
import { readTraceContext } from '../../src/protocol/trace-context.js'
import { headersOf } from '../helpers/headers-of.js'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const SPAN = '00f067aa0ba902b7'
const PARENT = `00-${TRACE}-${SPAN}-01`

describe('a trace context', () => {
  it('is read unchanged', () => {
    expect(readTraceContext(headersOf({ traceparent: PARENT, tracestate: 'vendor=opaque' }))).toEqual({
      traceparent: PARENT,
      tracestate: 'vendor=opaque',
    })
    expect(readTraceContext(headersOf({ traceparent: PARENT }))).toEqual({ traceparent: PARENT })
    expect(readTraceContext(headersOf({ traceparent: `00-${TRACE}-${SPAN}-00` }))?.traceparent).toMatch(
      /-00$/,
    )
  })

  it('of a later version is read as far as version 00 goes', () => {
    const later = `cc-${TRACE}-${SPAN}-01`
    expect(readTraceContext(headersOf({ traceparent: later }))).toEqual({ traceparent: PARENT })
    expect(readTraceContext(headersOf({ traceparent: `${later}-what-comes-later` }))).toEqual({
      traceparent: PARENT,
    })
  })

  it.each([
    ['missing', undefined],
    ['empty', ''],
    ['two headers joined', `${PARENT}, ${PARENT}`],
    ['in upper case', PARENT.toUpperCase()],
    ['of the forbidden version', `ff-${TRACE}-${SPAN}-01`],
    ['longer than version 00 is', `${PARENT}-more`],
    ['longer than a later version may be', `01-${TRACE}-${SPAN}-01-${'x'.repeat(512)}`],
    ['without a separator before later fields', `01-${TRACE}-${SPAN}-01x`],
    ['of no trace', `00-${'0'.repeat(32)}-${SPAN}-01`],
    ['of no span', `00-${TRACE}-${'0'.repeat(16)}-01`],
    ['too short', `00-${TRACE.slice(1)}-${SPAN}-01`],
    ['not hexadecimal', `00-${TRACE.replace('4', 'g')}-${SPAN}-01`],
    ['followed by a line', `${PARENT}\n`],
  ])('is absent if traceparent is %s', (_what, traceparent) => {
    expect(readTraceContext(headersOf({ traceparent, tracestate: 'vendor=opaque' }))).toBeUndefined()
  })

  it.each([
    ['a member without a value', 'vendor'],
    ['an empty value', 'vendor='],
    ['a key in upper case', 'Vendor=1'],
    ['a semicolon instead of a comma', 'a=1;b=2=3'],
    ['a control character', 'a=1\u0007'],
    ['more than 32 members', Array.from({ length: 33 }, (_, index) => `k${index}=1`).join(',')],
    ['more than 512 characters', `a=${'x'.repeat(511)}`],
    ['no member', ' , '],
  ])('is read without its state if that has %s', (_what, tracestate) => {
    expect(readTraceContext(headersOf({ traceparent: PARENT, tracestate }))).toEqual({ traceparent: PARENT })
  })

  it('loses the white space around the members of its state', () => {
    const tracestate = 'rojo=00f067aa, \ttenant@system=a b ,,'
    expect(readTraceContext(headersOf({ traceparent: PARENT, tracestate }))?.tracestate).toBe(
      'rojo=00f067aa,tenant@system=a b',
    )
  })
})
