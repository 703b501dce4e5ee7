import { describe, expect, it } from 'vitest'
import { CustomInput, toCustomArguments, toCustomInput } from '../../src/conversation/custom-tools.js'

function readIn(pieces: readonly string[]): string {
  const input = new CustomInput()
  return pieces.map((piece) => input.take(piece)).join('') + input.end()
}

const escapesOf = (text: string) =>
  text
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('')

describe('the input of a custom tool', () => {
  const TEXT = '*** "Begin"\n\tPatch \\ \u{1F600}é\u0001'

  it.each([
    ['as JSON', toCustomArguments(TEXT)],
    ['with white space', ` { "input" : ${JSON.stringify(TEXT)} } `],
    ['with escapes', `{"input":"${escapesOf(TEXT)}"}`],
  ])('is the same wherever its arguments are cut in three: %s', (_, args) => {
    for (let first = 0; first <= args.length; first++)
      for (let second = first; second <= args.length; second += 3)
        expect(readIn([args.slice(0, first), args.slice(first, second), args.slice(second)])).toBe(TEXT)
  })

  it.each([
    ['*** Begin Patch', '*** Begin Patch'],
    ['{"input":5}', '{"input":5}'],
    ['{"input":"a', 'a'],
    ['{"input":"a\nb"}', 'a\nb'],
    [`{"note":"${'x'.repeat(80)}"}`, `{"note":"${'x'.repeat(80)}"}`],
    ['', ''],
  ])('is read from arguments of another shape: %j', (args, input) => {
    expect(readIn([...args])).toBe(input)
  })

  it('is given out as far as it has come', () => {
    const input = new CustomInput()
    expect(['{"inp', 'ut":"ab', 'c\\', 'nd"}'].map((piece) => input.take(piece))).toEqual([
      '',
      'ab',
      'c',
      '\nd',
    ])
    expect(input.end()).toBe('')
  })

  it('returns from a body', () => {
    expect(toCustomInput(toCustomArguments(TEXT))).toBe(TEXT)
  })
})
