import type { Random } from '../../simulation/random.js'
import { type Field, type JsonWriter, someWriter } from './json-writer.js'

const LEAST_CHARACTERS = 14_000
const MOST_CHARACTERS = 45_000
const MOST_TURNS = 8
const WORDS_A_LINE = 40
const WORDS = [
  ...['The', 'quick', 'brown', 'fox', 'jumps', 'over', 'the', 'lazy', 'dog.', 'if (a < b && c > d)', '\n\n'],
  ...['"quoted"', 'C:\\new\\users', '\\"', '\\\\', '\\u0041', 'https://a.example/b', '\t', '\u0001', ''],
  ...['Köln', '漢字', 'Привет', 'שלום', '😀', '👩‍👩‍👧', '\u2028', '\ud83d', '\ufeff', 'ſ'],
  ...['"}],"messages":[{', '{"role":"user"}', ']}', '"model":"none"', '__proto__', '"__proto__":1'],
]

/** Fields next to the messages, some of them easily mistaken for messages. */
const OTHER_FIELDS: readonly Field[] = [
  ['temperature', '0.50'],
  ['user', '"\\"messages\\":[]"'],
  ['stop', '["\\"}],","messages"]'],
  ['metadata', '{"messages":"none"}'],
  [
    'tools',
    '[{"type":"function","function":{"name":"find","parameters":{"type":"object","properties":{"messages":{"type":"array"}}}}}]',
  ],
]

/** How a message may begin. A repeated name counts the second time. */
const ODD_FIELDS: readonly Field[] = [
  ['content', '"Not this."'],
  ['content', '[{"type":"text","text":"Nor this."}]'],
  ['c\\u006fntent', '"Nor this."'],
  ['role', '"developer"'],
  ['__proto__', '{"role":"system"}'],
  ['_\\u005fproto__', '[]'],
  ['weight', '1e400'],
  ['weight', '-0'],
  ['weight', '1.0'],
  ['seen', '[12345678901234567890]'],
  ['parsed', '{"answer":true}'],
  ['n\\u0061me', '"Ann"'],
  ['nested', '{"messages":[{"messages":[]}],"":null}'],
]

/** JSON that may precede the messages in a body. */
const ODD_STARTS: readonly Field[] = [
  ['messages', '[]'],
  ['messages', '[{"role":"user","content":"Not this."}]'],
  ['m\\u0065ssages', '[]'],
  ['mess\\u0061ge', 'true'],
  ['__proto__', '{"messages":[]}'],
]

const SHARE_OF_ODD_MESSAGES = 0.04
const SHARE_OF_ODD_STARTS = 0.08

/**
 * The JSON text of a request with a long prompt and these settings, as some client would write it. A repeated one has no
 * session: that orders the routes by their ids, which name whichever of the two calls came first.
 */
export function someLongRequest(
  random: Random,
  prompt: string,
  settings: object,
  isRepeated: boolean,
): string {
  const writer = someWriter(random)
  const fields: Field[] = Object.entries(settings).map(([name, value]) => [name, JSON.stringify(value)])
  // If calls of one session ran at once, the first to end would choose the route of the next.
  const session: Field = ['session_id', JSON.stringify(`session of ${prompt}`)]
  fields.push(...[...(isRepeated ? [] : [session]), ...OTHER_FIELDS].filter(() => random.chance(0.2)))
  fields.splice(random.int(0, fields.length), 0, ['messages', someMessages(random, writer, prompt)])
  if (random.chance(SHARE_OF_ODD_STARTS)) fields.unshift(random.pick(ODD_STARTS))
  return random.pick(['', '', '', '\ufeff', ' \n']) + writer.object(fields)
}

function someMessages(random: Random, { list, object, text }: JsonWriter, prompt: string): string {
  const turns = random.int(1, MOST_TURNS)
  const characters = random.int(LEAST_CHARACTERS, MOST_CHARACTERS) / turns
  const long = (): string => text(someLongText(random, characters))
  const message = (role: string, ...fields: readonly Field[]): string => {
    const odd = random.chance(SHARE_OF_ODD_MESSAGES) ? [random.pick(ODD_FIELDS)] : []
    return object([...odd, ['role', text(role)], ...fields])
  }
  const part = (type: string, ...fields: readonly Field[]): string =>
    object([['type', text(type)], ...fields])
  const image = (): string => {
    const address = random.pick(['https://a.example/b.png', 'data:image/png;base64,iVBORw0KGgo='])
    return part('image_url', ['image_url', object([['url', text(address)]])])
  }
  const toolCall = (): string => {
    const asked = object([
      ['name', text('find')],
      ['arguments', text(JSON.stringify({ query: someLongText(random, 100) }))],
    ])
    return object([
      ['id', text('call_1')],
      ['type', text('function')],
      ['function', asked],
    ])
  }
  const someTurn = (): readonly string[] =>
    random.weighted<() => readonly string[]>([
      [4, () => [message('user', ['content', long()])]],
      [3, () => [message('assistant', ['content', long()], ['refusal', 'null'])]],
      [1, () => [message('system', ['content', list([part('text', ['text', long()])])])]],
      [2, () => [message('user', ['content', list([part('text', ['text', long()]), image()])])]],
      [
        2,
        () => [
          message('assistant', ['content', 'null'], ['tool_calls', list([toolCall()])]),
          message('tool', ['tool_call_id', text('call_1')], ['content', long()]),
        ],
      ],
    ])()
  return list([
    message('user', ['content', text(`<${prompt}>`)]),
    ...Array.from({ length: turns }, someTurn).flat(),
  ])
}

function someLongText(random: Random, characters: number): string {
  const line = Array.from({ length: WORDS_A_LINE }, () => random.pick(WORDS)).join(' ')
  return line.repeat(Math.ceil(characters / line.length))
}
