import fc from 'fast-check'
import { beforeEach, describe, expect, it } from 'vitest'
import { isProviderError } from '../../src/base/errors.js'
import { SseReader } from '../../src/providers/sse-reader.js'

type Event = [data: string, type: string | undefined]

let fastPaths: boolean

function read(pieces: readonly Buffer[], eventBytes = 1_000_000): Event[] {
  const events: Event[] = []
  const onEvent = (data: string, type: string | undefined) => events.push([data, type])
  const reader = new SseReader({ eventBytes, fastPaths, onEvent })
  for (const piece of pieces) reader.read(piece)
  reader.end()
  return events
}

/**
 * The standard's own algorithm, for a complete stream. If the stream ends with an event that is an object, it counts
 * too, and so does data behind a byte order mark.
 */
function interpret(stream: Buffer): Event[] {
  const lines = stream
    .toString('latin1')
    .replace(/^\u00ef\u00bb\u00bf/, '')
    .split(/\r\n|\n|\r/)
  const rest = lines.pop() ?? '' // The text after the last line ending is not a line.
  const events: Event[] = []
  let data: string[] = []
  let type = ''
  for (const given of lines) {
    const line = given.replace(/^(?:\u00ef\u00bb\u00bf)+(?=data:)/, '')
    if (line === '') {
      if (data.length > 0) events.push([data.join('\n'), type === '' ? undefined : type])
      data = []
      type = ''
    }
    const [, field = line, value = ''] = /^([^:]*):? ?(.*)$/s.exec(line) ?? []
    if (field === 'data') data.push(value)
    if (field === 'event') type = value
  }
  if (rest.startsWith('data')) data.push(rest.replace(/^data(: ?)?/, ''))
  const last = data.join('\n')
  if (/^\{[^\n]*\}\n*$/.test(last)) events.push([last, type === '' ? undefined : type])
  return events
}

function reasonOf(run: () => unknown): string | undefined {
  try {
    run()
    return undefined
  } catch (error) {
    return isProviderError(error) ? error.reason : String(error)
  }
}

const everyCut = (stream: Buffer) =>
  Array.from({ length: stream.length + 1 }, (_, cut) => [stream.subarray(0, cut), stream.subarray(cut)])

const streams: Record<string, string> = {
  'plain blocks': 'data: {"a":1}\n\ndata: {"b":"ü€😀"}\n\ndata: [DONE]\n\n',
  'no space after the colon': 'data:{"a":1}\n\ndata:x\n\n',
  'comments and other fields':
    ': hello\n\ndata: a\n\nid: 7\nretry: 10\ndata: b\n\n:\n\nfoo: bar\ndata: c\n\n',
  'several data lines': 'data: a\ndata: b\n\ndata: c\ndata\n\ndata: d\n\n',
  'event types':
    'event: ping\ndata: {}\n\ndata: after\n\nevent: error\ndata: x\n\nevent: lost\n\ndata: y\n\n',
  'extra blank lines': '\n\n\ndata: a\n\n\n\n\ndata: b\n\n\n',
  'carriage returns and line feeds': 'data: a\r\n\r\nevent: t\r\ndata: b\r\ndata: c\r\n\r\n',
  'bare carriage returns': 'data: a\r\rdata: b\rdata: c\r\revent: t\rdata: d\r\r',
  'mixed line endings': 'data: a\n\r\ndata: b\r\n\ndata: c\n\ndata: d\r\r\n',
  'a byte order mark': '\ufeffdata: a\n\ndata: \ufeffb\n\n',
  'byte order marks before later lines': 'data: a\n\n\ufeffdata: b\n\ndata: c\n\n: x\n\n\ufeffdata: d\n\n',
  'two byte order marks': '\ufeff\ufeffdata: a\n\ndata: b\n\n',
  'an unfinished event': 'data: a\n\ndata: lost\n',
  'empty data': 'data:\n\ndata: \n\ndata: x\n\n',
  'one-line events among others':
    'data: a\n\ndata: b\n\nevent: t\ndata: c\n\ndata: d\n\ndata: e\ndata: f\n\n: x\n\ndata: g\n\ndata: h\rdata: i\n\n',
}

describe.each([
  ['with its fast path', true],
  ['without its fast path', false],
])('SseReader %s', (_name, isFast) => {
  beforeEach(() => {
    fastPaths = isFast
  })

  for (const [name, stream] of Object.entries(streams)) {
    it(`reads ${name} the same way wherever the bytes are cut`, () => {
      const bytes = Buffer.from(stream)
      const expected = interpret(bytes)
      expect(expected.length).toBeGreaterThan(0)
      for (const pieces of everyCut(bytes)) expect(read(pieces)).toEqual(expected)
      expect(read([...bytes].map((byte) => Buffer.from([byte])))).toEqual(expected)
    })
  }

  const unended: Record<string, readonly [end: string, read: string | undefined]> = {
    'without its blank line': ['data: {"b":"é"}\n', '{"b":"Ã©"}'],
    'without any line ending': ['data: {"b":2}', '{"b":2}'],
    'with a CRLF': ['data: {"b":2}\r\n', '{"b":2}'],
    'with a CR': ['data: {"b":2}\r', '{"b":2}'],
    'of several lines': ['data: {"b":\ndata: 2}', '{"b":\n2}'],
    'that is the terminator': ['data: [DONE]', '[DONE]'],
    'that is cut': ['data: {"b":2', undefined],
    'that is not an object': ['data: 12', undefined],
    'without its data': ['event: t', undefined],
  }
  for (const [name, [end, data]] of Object.entries(unended)) {
    it(`accepts a last event ${name} only if it is complete`, () => {
      const expected = data === undefined ? ['a'] : ['a', data]
      for (const pieces of everyCut(Buffer.from(`data: a\n\n${end}`))) {
        expect(read(pieces).map(([text]) => text)).toEqual(expected)
      }
    })
  }

  it('follows the standard on any mix of lines, cut anywhere', () => {
    const line = fc.constantFrom(
      'data: {"x":1}',
      'data: ',
      'data:y',
      'data',
      'event: t',
      ': c',
      'id: 1',
      'datax: 1',
      'data: data: z',
      '',
      '',
    )
    const lineEnd = fc.constantFrom('\n', '\n', '\n', '\n\n', '\r\n', '\r')
    const stream = fc.array(fc.tuple(line, lineEnd), { maxLength: 12 }).map((lines) => lines.flat().join(''))
    fc.assert(
      fc.property(stream, fc.array(fc.nat(80), { maxLength: 4 }), (text, cuts) => {
        const bytes = Buffer.from(text)
        const places = [
          0,
          ...cuts.map((cut) => Math.min(cut, bytes.length)).sort((a, b) => a - b),
          bytes.length,
        ]
        const pieces = places.slice(1).map((place, index) => bytes.subarray(places[index], place))
        expect(read(pieces)).toEqual(interpret(bytes))
      }),
      { seed: 20_260_101, numRuns: 5_000 },
    )
  })

  it.each([
    ['JSON', '{"error":{"message":"Overloaded"}}'],
    ['JSON over several lines', '{\n  "error": {\n    "message": "Overloaded"\n  }\n}'],
    ['a list over several lines', '[\n{"error": {"message": "Overloaded"}}\n]'],
    ['a field', 'error: {"message":"Overloaded"}'],
    ['a field with another name', 'APIError: Overloaded'],
  ])('reads an error outside of any event, as %s, wherever the bytes are cut', (_how, lines) => {
    for (const pieces of everyCut(Buffer.from(`data: a\n\n${lines}\n\ndata: b\n\n`))) {
      const [first, error, ...rest] = read(pieces)
      expect([first, error?.[1], rest]).toEqual([['a', undefined], 'error', [['b', undefined]]])
      expect(error?.[0]).toContain('Overloaded')
    }
  })

  it.each([
    ['a page of HTML', '<html>\n<body>502 Bad Gateway</body>\n</html>'],
    ['words', 'upstream connect error or disconnect/reset before headers'],
    ['JSON that is no error', '{"choices":[]}'],
    ['JSON that does not end', '{\n  "error": {'],
    ['a lot of JSON', `{${'\n"x": 1,'.repeat(20_000)}`],
  ])('rejects a stream with %s between its events, wherever the bytes are cut', (_how, lines) => {
    const bytes = Buffer.from(`data: a\n\n${lines}\n\ndata: b\n\n`)
    const cuts = bytes.length > 1_000 ? [[bytes]] : everyCut(bytes)
    for (const pieces of cuts) expect(reasonOf(() => read(pieces))).toBe('invalid-response')
  })

  it.each(['   ', 'ping', ': ping', 'x-note: 1', 'retry: soon', 'id'])(
    'ignores the line %j between events',
    (line) => {
      const stream = Buffer.from(`data: a\n\n${line}\n\ndata: b\n\n`)
      expect(read([stream]).map(([data]) => data)).toEqual(['a', 'b'])
    },
  )

  it('reads data behind white space, and a bare terminator', () => {
    const stream = Buffer.from('data: a\n\n data: b\n\nData: c\n\n[DONE]\n')
    expect(read([stream]).map(([data]) => data)).toEqual(['a', 'b', 'c', '[DONE]'])
  })

  it.each(['dat', '<ht', '{"error":{"mess', 'Intern'])('ignores %j where a stream is cut', (cut) => {
    expect(read([Buffer.from(`data: a\n\n${cut}`)]).map(([data]) => data)).toEqual(['a'])
  })

  it('reads an error that ends its stream without a line ending', () => {
    const error = '{"error":{"message":"Overloaded"}}'
    expect(read([Buffer.from(`data: a\n\n${error}`)]).at(-1)).toEqual([error, 'error'])
  })

  it('reports an event at the CR that ends it, whether or not an LF follows', () => {
    const events: string[] = []
    const reader = new SseReader({ eventBytes: 1_000, fastPaths, onEvent: (data) => events.push(data) })
    reader.read(Buffer.from('data: a\r\r'))
    expect(events).toEqual(['a'])
    reader.read(Buffer.from('data: b\r\n\r'))
    expect(events).toEqual(['a', 'b'])
    reader.read(Buffer.from('\n'))
    reader.read(Buffer.from('data: c\r'))
    reader.read(Buffer.from('\ndata: d\r\n\r'))
    expect(events).toEqual(['a', 'b', 'c\nd'])
  })

  it('keeps each byte of a character as one character', () => {
    expect(read([Buffer.from('data: é\n\n')])).toEqual([['Ã©', undefined]])
  })

  it('rejects an event that is longer than the limit, in one piece or in many', () => {
    const event = Buffer.from(`data: ${'x'.repeat(101)}\n\n`)
    expect(read([Buffer.from(`data: ${'x'.repeat(100)}\n\n`)], 100)).toHaveLength(1)
    expect(reasonOf(() => read([event], 100))).toBe('invalid-response')
    for (const pieces of everyCut(event)) expect(reasonOf(() => read(pieces, 100))).toBe('invalid-response')
  })

  it('rejects an event whose lines together exceed the limit', () => {
    const stream = Buffer.from(`${'data: 0123456789\n'.repeat(20)}\n`)
    expect(reasonOf(() => read([stream], 100))).toBe('invalid-response')
    expect(
      reasonOf(() =>
        read(
          [...stream].map((byte) => Buffer.from([byte])),
          100,
        ),
      ),
    ).toBe('invalid-response')
  })

  it('rejects a line that does not end within the limit', () => {
    const pieces = Array.from({ length: 100 }, () => Buffer.from(': comment '))
    expect(reasonOf(() => read(pieces, 200))).toBe('invalid-response')
  })

  it('passes on errors of the listener', () => {
    const reader = new SseReader({
      eventBytes: 100,
      fastPaths,
      onEvent() {
        throw new Error('stop here')
      },
    })
    expect(() => reader.read(Buffer.from('data: a\n\n'))).toThrow('stop here')
  })
})
