import { describe, expect, it } from 'vitest'
import { eventError } from '../../src/engine/events/event-error.js'

describe('an error in an event', () => {
  it('keeps its name, message and stack, and says who caused it', () => {
    const error = new TypeError('no such table', { cause: new Error('connection lost') })
    expect(eventError(error)).toMatchObject({
      name: 'TypeError',
      message: 'no such table',
      stack: expect.stringContaining('event-error.test.ts'),
      cause: { name: 'Error', message: 'connection lost' },
    })
  })

  it.each([
    ['an API key', 'refused sk-abcdef123456'],
    ['an access token', 'refused at-abcdef123456'],
    ['a header', 'sent Bearer abcdef123456'],
    ['the password in an address', 'cannot reach postgres://app:hunter22@db/x'],
    ['an envelope', 'cannot open v1.eyJhbGciOi..iv.cipher.tag'],
  ])('holds nothing of %s', (_what, message) => {
    const { message: shown } = eventError(new Error(message))
    expect(shown).toContain('[secret]')
    expect(shown).not.toMatch(/abcdef123456|hunter22|cipher/)
  })

  it('goes three causes deep and no deeper', () => {
    const deep = [1, 2, 3, 4, 5].reduce<Error>((cause, n) => new Error(String(n), { cause }), new Error('0'))
    let depth = 0
    for (let seen = eventError(deep).cause; seen !== undefined; seen = seen.cause) depth++
    expect(depth).toBe(3)
  })
})
