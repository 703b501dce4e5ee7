import { describe, expect, it } from 'vitest'
import { CallAbort, isAborted, onceAborted } from '../../src/base/call-abort.js'

describe('the abort of a call', () => {
  it('is heard without making a signal', () => {
    const abort = new CallAbort()
    const call = abort.attachTo({ model: 'm' })
    let heard = 0
    onceAborted(call, () => heard++)
    expect(isAborted(call)).toBe(false)
    abort.abort()
    expect([heard, isAborted(call), abort.hasSignal]).toEqual([1, true, false])
    expect(call.signal.aborted).toBe(true)
  })

  it('is not heard by a listener that has left', () => {
    const abort = new CallAbort()
    let heard = 0
    onceAborted(abort.attachTo({}), () => heard++)()
    abort.abort()
    expect(heard).toBe(0)
  })

  it('aborts a signal that was read before, and one that is read later', () => {
    const abort = new CallAbort()
    const call = abort.attachTo({})
    const { signal } = call
    abort.abort()
    expect(signal.aborted).toBe(true)
    expect(call.signal).toBe(signal)
  })

  it('reaches a copy of the call', () => {
    const abort = new CallAbort()
    const copy = { ...abort.attachTo({ model: 'm' }), model: 'n' }
    let heard = 0
    onceAborted(copy, () => heard++)
    abort.abort()
    expect([heard, isAborted(copy)]).toEqual([1, true])
  })

  it('leaves a copy with a signal of its own to that signal', () => {
    const abort = new CallAbort()
    const call = abort.attachTo({})
    const own = new AbortController()
    const copy = { ...call, signal: own.signal }
    const inherits: typeof call = Object.create(abort.attachTo({}), { signal: { value: own.signal } })
    let heard = 0
    for (const one of [copy, inherits]) onceAborted(one, () => heard++)
    abort.abort()
    expect([heard, isAborted(copy), isAborted(inherits)]).toEqual([0, false, false])
    own.abort()
    expect([heard, isAborted(copy), isAborted(inherits)]).toEqual([2, true, true])
  })
})
