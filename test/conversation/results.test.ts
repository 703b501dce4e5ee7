import { describe, expect, it } from 'vitest'
import { type CallsAndResults, settleResults } from '../../src/conversation/results.js'

/** `c:a,b` is a reply with the calls a and b, `t` more of it, `r:a` a result, `u` a message of the user. */
const VIEW: CallsAndResults<string> = {
  callsOf: (element) => (element.startsWith('c:') ? element.slice(2).split(',') : []),
  resultOf: (element) => (element.startsWith('r:') ? element.slice(2).split('=')[0] : undefined),
  continuesReply: (element) => element === 't' || element.startsWith('c:'),
  missing: (id) => `missing:${id}`,
  saidBy: (result) => result.split('=')[1],
  orphan: (result, id) => `orphan:${id}:${result}`,
}

function settled(text: string): string {
  return settleResults(text.split(' '), VIEW).join(' ')
}

describe('the results of calls', () => {
  it.each([
    'u c:a r:a u',
    'u c:a,b r:a r:b t',
    'u c:a,b r:b r:a u',
    'u c:a t c:b r:a r:b u',
    'u c:a r:a c:a r:a u',
    'u c:a',
    'u c:a,b',
    'u c: r: u',
    'u c:a r: u',
    'u t u',
  ])('stay where they are if they follow their calls: %s', (text) => {
    const elements = text.split(' ')
    expect(settleResults(elements, VIEW)).toBe(elements)
  })

  it.each([
    ['a message between a call and its result', 'u c:a u r:a', 'u c:a r:a u'],
    ['a message between two results', 'u c:a,b r:a u r:b u', 'u c:a,b r:a r:b u u'],
    ['the results of two replies, together', 'c:a u c:b r:a r:b', 'c:a r:a u c:b r:b'],
    ['a call without a result', 'u c:a u', 'u c:a missing:a u'],
    ['one of two calls without a result', 'u c:a,b r:b', 'u c:a,b missing:a r:b'],
    ['a result without a call', 'u r:a u', 'u orphan:a:r:a u'],
    ['a result before its call', 'u r:a c:a u', 'u orphan:a:r:a c:a missing:a u'],
    ['a second result', 'c:a r:a=1 r:a=2 u', 'c:a r:a=1 orphan:a:r:a=2 u'],
    ['the same result twice', 'c:a r:a u r:a', 'c:a r:a u'],
    ['a second result after another message', 'c:a r:a=1 u r:a=2', 'c:a r:a=1 u orphan:a:r:a=2'],
    ['one id twice, results apart', 'c:a,a r:a=1 u r:a=2', 'c:a,a r:a=1 r:a=2 u'],
    ['a call without an id and without a result', 'c: u', 'c: missing: u'],
    ['a result without an id', 'c:a,b u r:a r:', 'c:a,b r:a r: u'],
    ['a result without an id behind a message', 'c: u r: u', 'c: r: u u'],
    ['more results without an id than calls', 'c:a u r:=1 r:=2 t', 'c:a r:=1 u orphan::r:=2 t'],
    ['a result of a call without an id, behind another reply', 'c: u c:a r:a r: u', 'c: r: u c:a r:a u'],
    ['one id twice, and a result again', 'c:a,a r:a=1 r:a=2 r:a=1 u', 'c:a,a r:a=1 r:a=2 u'],
  ])('are put behind their calls: %s', (_name, given, wanted) => {
    expect(settled(given)).toBe(wanted)
    expect(settled(wanted.replaceAll('missing:', 'r:').replaceAll(/orphan:\S+/g, 'u'))).toBe(
      wanted.replaceAll('missing:', 'r:').replaceAll(/orphan:\S+/g, 'u'),
    )
  })
})
