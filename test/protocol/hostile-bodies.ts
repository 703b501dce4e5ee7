/**
 * Runs as a process of its own. Parses expensive bodies of 32 MiB, and prints for each the refusal, the CPU
 * time and the growth of peak memory.
 */
import { isCompatError } from '../../src/base/errors.js'
import { parseChatRequest } from '../../src/operations/chat/read-request.js'
import { parseJsonBody } from '../../src/protocol/json-body.js'
import { cpuMsOf } from '../helpers/cpu-time.js'
import { peakMiB } from '../helpers/peak-memory.js'

const BODY_BYTES = 32 * 1_024 * 1_024
/** What the test asks of every body. */
const ENOUGH_MS = 1_000

function filled(start: string, repeated: string, end = ''): Buffer {
  const times = Math.floor((BODY_BYTES - start.length - end.length) / repeated.length)
  const body = Buffer.alloc(start.length + times * repeated.length + end.length)
  body.write(start, 0, 'latin1')
  body.fill(repeated, start.length, start.length + times * repeated.length, 'latin1')
  body.write(end, body.length - end.length, 'latin1')
  return body
}

const CHAT = '{"model":"m","messages":['

const BODIES: Readonly<Record<string, () => Buffer>> = {
  objects: () => filled('', '{},'),
  'objects in an array': () => filled('[', '{},', '{}]'),
  brackets: () => filled('', '['),
  'nested objects': () => filled('', '{"a":'),
  'bad messages': () => filled(CHAT, '{},', '{}]}'),
  'bad parts': () => filled(`${CHAT}{"role":"user","content":[`, '{},', '{}]}]}'),
  'messages of bad parts': () => filled(CHAT, `{"role":"user","content":[${'{},'.repeat(999)}{}]},`, '{}]}'),
  numbers: () => filled(`${CHAT}{"role":"user","content":[`, '1,', '1]}]}'),
  keys: () => filled('{', '"a":1,', '"a":1}'),
  'escaped quotes': () => filled('{"a":"', '\\"', '"}'),
  'short strings': () => filled('{"a":[', '"",', '""'),
  backslashes: () => filled('{"a":"', '\\\\', ''),
  'few values and bad parts': () =>
    filled(
      `{"model":"m","pad":"${'x'.repeat(BODY_BYTES - 550_000)}","messages":[`,
      `{"role":"user","content":[${'{},'.repeat(999)}{}]},`,
      '{}]}',
    ),
  'one long string': () => filled(`${CHAT}{"role":"user","content":5}],"pad":"`, 'x', '"}'),
  // The exact digits of schemas are found in the text, at a depth of five.
  'one long number in a schema': () =>
    filled(
      `${CHAT}5],"tools":[{"type":"function","function":{"name":"f","parameters":{"const":`,
      '1',
      '}}}]}',
    ),
  'two-byte letters': () => Buffer.from(`${CHAT}5],"pad":"${'é'.repeat(BODY_BYTES / 2 - 64)}"}`),
}

for (const [name, make] of Object.entries(BODIES)) {
  const body = make()
  const peakBefore = peakMiB()
  let code = 'accepted'
  let parsed = false
  const ms = Math.round(
    cpuMsOf(() => {
      try {
        const { value } = parseJsonBody(body)
        parsed = true
        parseChatRequest(value)
      } catch (error) {
        code = isCompatError(error) && error.status === 400 ? error.code : String(error)
      }
    }, ENOUGH_MS),
  )
  const grownMiB = Math.round(peakMiB() - peakBefore)
  console.log(JSON.stringify({ name, code, parsed, ms, grownMiB, bytes: body.length }))
}
