import type { Random } from '../simulation/random.js'
import {
  HOSTILE_FIELDS,
  HOSTILE_MEMBERS,
  HOSTILE_PARTS,
  HOSTILE_TOOL_CHOICES,
  HOSTILE_TOOLS,
  ODD_BOUNDS,
  ODD_VALUES,
} from './hostile-fields.js'
import { isObject, type Json, type JsonObject } from './json.js'

export interface Mutated {
  readonly text: string
  readonly done: readonly string[]
}

type Mutation = (random: Random, body: JsonObject, done: string[]) => JsonObject

/** Mutates a body in one to three hostile ways. */
export function mutate(random: Random, body: JsonObject): Mutated {
  const done: string[] = []
  let changed = body
  for (let count = random.pick([1, 1, 1, 2, 3]); count > 0; count--) {
    changed = random.weighted(MUTATIONS)(random, changed, done)
  }
  const text = JSON.stringify(changed).replace(DIGITS, (_, count: string) => '7'.repeat(Number(count)))
  return { text: random.chance(0.06) ? twice(random, changed, text, done) : text, done }
}

/** Stands for a number of so many digits, which no number of JavaScript has. */
const digits = (count: number): string => `the digits of ${count}`
const DIGITS = /"the digits of (\d+)"/g

/** Providers get the numbers of schemas digit for digit. */
const addLongNumbers: Mutation = (random, body, done) => {
  const count = random.pick([17, 400, 4_000, 20_000])
  done.push(`a schema with numbers of ${count} digits`)
  const numbers = Array.from({ length: random.int(1, 20) }, () => digits(count))
  const parameters = { type: 'object', properties: { a: { enum: numbers } } }
  const name = `numbers_${count}`
  if (random.chance(0.3)) {
    const format = { type: 'json_schema', json_schema: { name, schema: parameters } }
    return { ...body, response_format: format }
  }
  const tool = random.pick<JsonObject>([
    { type: 'function', function: { name, parameters } },
    { type: 'function', name, parameters },
    { name, input_schema: parameters },
  ])
  return { ...body, tools: [...(Array.isArray(body.tools) ? body.tools : []), tool] }
}

const addField: Mutation = (random, body, done) => {
  const [name, value] = random.pick(HOSTILE_FIELDS)
  done.push(`the field ${name}`)
  return { ...body, [name]: value as Json }
}

const KNOWN_NAMES =
  'model input instructions max_output_tokens system stop_sequences dimensions messages max_tokens max_completion_tokens tools tool_choice functions response_format n stream store service_tier plugins models provider provider_key session_id thinking thinking_budget prediction cache_control web_search_options reasoning'.split(
    ' ',
  )

const RESPELLINGS: readonly ((name: string) => string)[] = [
  (name) => name.toUpperCase(),
  (name) => name[0]!.toUpperCase() + name.slice(1),
  (name) => name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase()),
  (name) => name.replaceAll('_', '-'),
  (name) => name.replaceAll('_', ''),
  (name) => `${name} `,
  (name) => ` ${name}`,
  (name) => name.replace('s', '\u017f'),
  (name) => name.replace('k', '\u212a'),
  (name) => name.replace('e', '\u0435'),
  (name) => `${name}\u200b`,
  (name) => name.normalize('NFKD').replace('o', '\uff4f'),
  (name) => `${name}\0`,
  (name) => `${name}[]`,
]

const respell: Mutation = (random, body, done) => {
  const name = random.pick(KNOWN_NAMES)
  const spelt = random.pick(RESPELLINGS)(name)
  if (spelt === name) return body
  done.push(`the field ${JSON.stringify(spelt)}`)
  const value = random.pick<Json>([100_000, 'dear', true, ['dear'], { type: 'enabled', budget_tokens: 9e4 }])
  return { ...body, [spelt]: value }
}

const changeBound: Mutation = (random, body, done) => {
  const name = random.pick(['max_tokens', 'max_completion_tokens', 'max_output_tokens'])
  const value = random.pick(ODD_BOUNDS) as Json
  done.push(`${name}: ${JSON.stringify(value)}`)
  return { ...body, [name]: value }
}

const KNOWN_FIELDS =
  'temperature top_p stop seed logit_bias logprobs top_logprobs top_k tools tool_choice functions function_call parallel_tool_calls response_format reasoning_effort reasoning include_reasoning thinking enable_thinking thinking_budget chat_template_kwargs verbosity prediction prompt_cache_key metadata user store service_tier modalities audio n stream_options stream usage cache_control prompt_mode dry_sequence_breakers stop_token_ids mirostat'.split(
    ' ',
  )

const changeType: Mutation = (random, body, done) => {
  const name = random.pick(KNOWN_FIELDS)
  const value = random.pick(ODD_VALUES) as Json
  done.push(`${name}: ${JSON.stringify(value)}`)
  return { ...body, [name]: value }
}

const addTool: Mutation = (random, body, done) => {
  const tool = random.pick(HOSTILE_TOOLS) as Json
  done.push(`a tool: ${JSON.stringify(tool)}`)
  if (random.chance(0.15)) return { ...body, tools: tool }
  return { ...body, tools: [...(Array.isArray(body.tools) ? body.tools : []), tool] }
}

const addToolChoice: Mutation = (random, body, done) => {
  const choice = random.pick(HOSTILE_TOOL_CHOICES) as Json
  done.push(`tool_choice: ${JSON.stringify(choice)}`)
  return { ...body, tool_choice: choice }
}

const changeMessage = (
  random: Random,
  body: JsonObject,
  change: (message: JsonObject) => JsonObject,
): JsonObject => {
  const name = Array.isArray(body.messages) ? 'messages' : 'input'
  const messages = Array.isArray(body[name]) ? (body[name] as readonly Json[]) : []
  if (messages.length === 0) return body
  const chosen = random.int(0, messages.length - 1)
  return {
    ...body,
    [name]: messages.map((message, index) =>
      index === chosen && isObject(message) ? change(message) : message,
    ),
  }
}

const addMember: Mutation = (random, body, done) => {
  const [name, value] = random.pick(HOSTILE_MEMBERS)
  done.push(`a message's ${name}`)
  return changeMessage(random, body, (message) => ({ ...message, [name]: value as Json }))
}

const addPart: Mutation = (random, body, done) => {
  const part = random.pick(HOSTILE_PARTS) as Json
  done.push(`a part: ${JSON.stringify(part)}`)
  return changeMessage(random, body, (message) => ({
    ...message,
    content: [{ type: 'text', text: 'See this.' }, part],
  }))
}

const addPrediction: Mutation = (random, body, done) => {
  done.push('a prediction')
  return { ...body, prediction: { type: 'content', content: 'word '.repeat(random.pick([10, 500, 5_000])) } }
}

const MUTATIONS: readonly (readonly [number, Mutation])[] = [
  [6, addField],
  [2, respell],
  [4, changeBound],
  [2, changeType],
  [2, addTool],
  [1, addLongNumbers],
  [0.7, addToolChoice],
  [1.5, addMember],
  [2, addPart],
  [0.5, addPrediction],
]

/** Repeats a name in one body: a reader of the first sees another request than a reader of the last. */
function twice(random: Random, body: JsonObject, text: string, done: string[]): string {
  const [name, value] = random.pick<readonly [string, Json]>([
    ['max_tokens', 100_000],
    ['model', 'dear/model'],
    ['messages', [{ role: 'user', content: 'word '.repeat(400) }]],
    ['n', 100],
    ['store', true],
    ['__proto__', { store: true, max_tokens: 100_000 }],
    ['constructor', { prototype: { store: true } }],
    ['tools', [{ type: 'web_search' }]],
  ])
  done.push(`${name} twice`)
  const own = Object.hasOwn(body, name) ? body[name]! : null
  const first = `${JSON.stringify(name)}:${JSON.stringify(value)}`
  const last = `${JSON.stringify(name)}:${JSON.stringify(own)}`
  const rest = text.slice(1, -1)
  return name.includes('o__') || name === 'constructor' ? `{${first},${rest}}` : `{${first},${rest},${last}}`
}
