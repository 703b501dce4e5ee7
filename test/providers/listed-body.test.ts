import { describe, expect, it } from 'vitest'
import { ListedBody } from '../../src/providers/listed-body.js'

const LIST = { name: 'data', copies: () => 1 }

/** Reads a text cut into pieces of some bytes. Returns what it means, or the error. */
function readIn(text: string, pieceBytes: number): unknown {
  const bytes = Buffer.from(text)
  const body = new ListedBody(LIST)
  try {
    for (let at = 0; at < bytes.length; at += pieceBytes) body.add(bytes.subarray(at, at + pieceBytes))
    const value = JSON.parse(body.text)
    return Array.isArray(value.data) && value.data.length === 0 ? { ...value, data: body.items } : value
  } catch {
    return 'not JSON'
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return 'not JSON'
  }
}

const TEXTS = [
  '{"object":"list","data":[{"embedding":[1,2.5,-3e-7]},{"embedding":"AAAA"}],"usage":{"prompt_tokens":1}}',
  ' \n{ "data" : [ {"a": "x,]}\\"[" } , [1,[2]], "ü]", null, 4 ] , "id": "a" }',
  '{"data":[]}',
  '{"data":[ ]}',
  '{"data":[1,]}',
  '{"data":[,1]}',
  '{"data":[1 2]}',
  '{"data":[{"a":1}',
  '{"data":[{"a":1}}',
  '{"data":null,"x":[1,2]}',
  '{"data":[1],"data":[2,3]}',
  '{"data":[1],"data":null}',
  '{"x":{"data":[1,2]},"data":[3]}',
  '{"x":"\\"data\\":[1,2]","data":[3]}',
  '{"a,\\"data":[1,2],"data":[3]}',
  '{"d\\u0061ta":[1,2]}',
  `{"x":1,${' '.repeat(70)}"data":${' '.repeat(70)}[1,2]}`,
]

describe('a large body whose list is parsed item by item', () => {
  it.each(TEXTS)('means what the parser reads in %s, wherever it is cut', (text) => {
    for (let pieceBytes = 1; pieceBytes <= text.length; pieceBytes++) {
      expect(readIn(text, pieceBytes), `in pieces of ${pieceBytes}`).toEqual(parsed(text))
    }
  })

  it('counts its items as often as they are in memory', () => {
    const body = new ListedBody({ name: 'data', copies: (item) => (item === 1 ? 1 : 4) })
    body.add(Buffer.from('{"data":[1,'))
    const { heldBytes } = body
    body.add(Buffer.from('"abcd",'))
    expect(body.heldBytes - heldBytes).toBe(4 * '"abcd"'.length)
  })
})
