import { chatStreams } from '../../recordings/chat-completions.js'
import { messageStreams } from '../../recordings/messages.js'
import { bytesOf } from '../../recordings/recording.js'
import type { Random } from '../../simulation/random.js'
import { oddBodies, oddStreams } from '../odd-replies.js'
import { someChunks, someFinish, someText, someUsage } from './chunks.js'

const DONE = '[DONE]'
const FAULTS = [
  '{"error":{"message":"Overloaded","code":529}}',
  '{"choices":[{"index":0,"delta":{"content":',
  '{"choices":[{"index":7,"delta":{"content":"x"}}]}',
  '{"choices":{}}',
  'null',
]
const oddStreamBodies = Object.values(oddStreams).map(([body]) => body)
const oddJsonBodies = Object.values(oddBodies).map(([body]) =>
  typeof body === 'string' ? body : JSON.stringify(body),
)
const recordedBodies = chatStreams.map((stream) => bytesOf(stream).toString())
const anthropicBodies = messageStreams.map((stream) => bytesOf(stream).toString())

/** The body of a reply with status 200: a stream or one document, usually the one requested. */
export function someBody(random: Random, choices: number, stream: boolean): string {
  return random.weighted([
    [stream ? 14 : 4, () => someStream(random, choices)],
    [stream ? 2 : 12, () => someDocument(random, choices)],
    [2, () => random.pick(oddStreamBodies)],
    [1, () => random.pick(recordedBodies)],
    [1, () => random.pick(oddJsonBodies)],
  ])()
}

export function someAnthropicBody(random: Random): string {
  return random.pick(anthropicBodies)
}

/** Replies with an unusual status, and bodies that are neither a stream nor a document. */
export function someNonsense(random: Random): string {
  return random.pick([
    '{"error":{"message":"No.","type":"invalid_request_error","param":"messages","code":"bad"}}',
    '{"error":"No."}',
    '<html>Bad gateway</html>',
    '',
    '   \n',
  ])
}

/** Writes a value as JSON in one of the ways providers do. */
type Serialise = (value: object) => string
const WAYS_TO_SERIALISE: readonly Serialise[] = [
  (value) => JSON.stringify(value),
  (value) =>
    JSON.stringify(value).replace(
      /[\u0080-\uffff]/g,
      (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
    ),
  (value) => JSON.stringify(value, null, 1).replaceAll('\n', ''),
]

function someStream(random: Random, choices: number): string {
  const serialise = random.pick(WAYS_TO_SERIALISE)
  const events = someChunks(random, choices).map(serialise)
  if (random.chance(0.1)) events.splice(random.int(0, events.length), 0, random.pick(FAULTS))
  if (random.chance(0.9)) events.push(DONE)
  return asEvents(random, events)
}

/** Writes the same events in any of the ways a stream may be written. */
function asEvents(random: Random, events: readonly string[]): string {
  const isOdd = random.chance(0.4)
  const lineEnd = isOdd ? random.pick(['\n', '\r\n', '\r\n', '\r']) : '\n'
  const field = isOdd && random.chance(0.3) ? 'data:' : 'data: '
  const before = ['', ': keep-alive\n\n', ':\n', 'event: message\n', 'id: 7\nretry: 10\n', '\n', 'data:\n\n']
  const written = events.map((event) => {
    const lead = isOdd && random.chance(0.3) ? random.pick(before) : ''
    const data = isOdd && random.chance(0.2) ? event.replace(',"choices"', `,\n${field}"choices"`) : event
    return `${lead}${field}${data}\n\n`.replaceAll('\n', lineEnd)
  })
  const start = isOdd ? random.pick(['', '\ufeff', '\n\n', ': hello\n\n']) : ''
  const comment = random.chance(0.2) ? ': keep-alive\n\n' : ''
  return start + comment + written.join('')
}

function someDocument(random: Random, choices: number): string {
  const message = (): object => ({
    role: 'assistant',
    content: random.chance(0.8)
      ? Array.from({ length: random.int(1, 6) }, () => someText(random)).join('')
      : null,
    ...(random.chance(0.2) && { reasoning: someText(random) }),
    ...(random.chance(0.3) && {
      tool_calls: [{ type: 'function', function: { name: 'tool', arguments: '{"a":1}' } }],
    }),
  })
  const document = {
    id: random.pick(['upstream-1', 'upstream-1', 'oben-ü']),
    object: 'chat.completion',
    ...(random.chance(0.3) && { system_fingerprint: random.pick(['fp_1', 'fp_ä']) }),
    ...(random.chance(0.2) && { service_tier: random.pick(['default', '標準']) }),
    choices: Array.from({ length: choices }, (_, index) => ({
      index,
      message: message(),
      finish_reason: random.chance(0.9) ? someFinish(random) : 'schluß',
    })),
    ...(random.chance(0.8) && { usage: someUsage(random) }),
  }
  return random.pick(['', '\n\n  ', '\ufeff']) + random.pick(WAYS_TO_SERIALISE)(document)
}
