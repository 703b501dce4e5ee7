import {
  badFormat,
  badMetadata,
  badParameters,
  badStrictParameters,
  longLabel,
  mismatched,
  NAME,
  noFileData,
  noImage,
  openAiBody,
  outside,
  tooLong,
  wordsOf,
  wrongValue,
} from './openai-words.js'
import type { StrictRefusal, StrictRequest, StrictRow } from './refusal.js'
import type { Objection, Rule } from './rule.js'
import { first, isObject, type Json, misfitFinder, objects, type Shape, type Shapes } from './shape.js'
import { OPENAI } from './shapes/index.js'
import { idBehindThought, idOfThought, isFrom, sign, thoughtOf } from './signatures.js'

const SPEC = 'https://github.com/openai/openai-openapi'

/**
 * The API takes items of replies back without the members that its types require of a reply. Codex sends members of
 * web searches and of calls of custom tools that the types lack, and no content of thoughts as null.
 */
const SHAPES: Shapes = {
  roots: OPENAI.roots,
  named: {
    ...OPENAI.named,
    // Its documents leave the detail out of images of users.
    ...changed('ResponseInputImage', ['detail']),
    ...changed('ResponseOutputMessage', ['id', 'status', 'type']),
    ...changed('ResponseOutputText', ['annotations']),
    ...changed('ResponseReasoningItem', ['id'], { content: { either: ['null', { list: 'any' }] } }),
    ...changed('ResponseCustomToolCall', ['status'], { status: 'string' }),
    ...changed('ResponseFunctionWebSearch', ['id']),
    ...changed('ResponseInputItem.LocalShellCall', ['id']),
    // The types require a detail, but its documents leave it out.
    ...changed('ResponseInputImage', ['detail']),
    ...changed('WebSearchTool', ['external_web_access'], { external_web_access: 'boolean' }),
  },
}

function changed(
  name: string,
  optional: readonly string[],
  members: Readonly<Record<string, Shape>> = {},
): Shapes['named'] {
  const shape = OPENAI.named[name]
  if (typeof shape !== 'object' || !('members' in shape)) throw new Error(`There is no shape ${name}.`)
  return {
    [name]: {
      ...shape,
      members: { ...shape.members, ...members },
      optional: [...(shape.optional ?? []), ...optional],
    },
  }
}

const misfitOf = misfitFinder(SHAPES)

// What examples are made of.
const USER = { role: 'user', content: 'Hi' }
const asked = (more: Json): Json => ({ model: 'm', input: [USER], ...more })
const said = (...items: readonly Json[]): Json => ({ model: 'm', input: [USER, ...items] })
const call = (id: string, more: Json = {}): Json => ({
  type: 'function_call',
  call_id: id,
  name: 'look',
  arguments: '{}',
  ...more,
})
const output = (id: string): Json => ({ type: 'function_call_output', call_id: id, output: 'sun' })
const thought = (sealed: string | null, id = 'rs_1'): Json => ({
  type: 'reasoning',
  id,
  summary: [],
  encrypted_content: sealed,
})
const reply = (part: Json): Json => ({ type: 'message', role: 'assistant', content: [part] })
const picture = (url: string): Json => ({
  role: 'user',
  content: [{ type: 'input_image', image_url: url }],
})
const pdf = (data: string): Json => ({
  role: 'user',
  content: [{ type: 'input_file', filename: 'a.pdf', file_data: data }],
})
const SEALED = sign('openai', 'x')
const look = (parameters: Json, strict = false): Json => ({
  tools: [{ type: 'function', name: 'look', parameters, strict }],
})
const format = (strict: boolean): Json => ({
  text: {
    format: {
      type: 'json_schema',
      name: 'place',
      strict,
      schema: { type: 'object', properties: { a: { type: 'string' } } },
    },
  },
})

const isMessage = ({ type, role }: Json) => type === 'message' || (type === undefined && role !== undefined)
const isReply = (item: Json) => isMessage(item) && item.role === 'assistant'

/** What has an output, by what its output is called. */
const OUTPUTS: Readonly<Record<string, { readonly output: string; readonly words: string }>> = {
  function_call: { output: 'function_call_output', words: 'function call' },
  custom_tool_call: { output: 'custom_tool_call_output', words: 'custom tool call' },
}

/** What an output may answer. Those of functions also answer the calls of Codex's shell. */
const calledBy = (kind: string) => (kind === 'function_call' ? [kind, 'local_shell_call'] : [kind])

const PREFIXES: Readonly<Record<string, string>> = {
  function_call: 'fc',
  custom_tool_call: 'ctc',
  reasoning: 'rs',
  message: 'msg',
}

const eachItem = (body: Json, find: (item: Json, place: string, n: number) => Objection | undefined) =>
  first(objects(body.input), (item, n) => find(item, `input[${n}]`, n))

/** Parts of messages, and of what tools answered. */
const eachPart = (body: Json, find: (part: Json, place: string) => Objection | undefined) =>
  eachItem(body, (item, place) =>
    first(['content', 'output'], (name) =>
      first(objects(item[name]), (part, n) => find(part, `${place}.${name}[${n}]`)),
    ),
  )

const eachTool = (body: Json, find: (tool: Json, place: string) => Objection | undefined) =>
  first(objects(body.tools), (tool, n) => (tool.type === 'function' ? find(tool, `tools[${n}]`) : undefined))

/** Whether a part of the conversation lies at the vendor. */
const isContinued = (body: Json) =>
  [body.previous_response_id, body.conversation].some((id) => (id ?? null) !== null)

const notFound = (id: unknown): Objection => ({
  message: `Item with id '${id}' not found. Items are not persisted when \`store\` is set to false. Try again with \`store\` set to true, or remove this item from your input.`,
  param: 'input',
  status: 404,
})

export const RESPONSES_RULES: readonly Rule[] = [
  {
    id: 'smallest-bound',
    source: 'https://github.com/BerriAI/litellm/issues/31451',
    rows: ['openai'],
    objection: (body) => outside('max_output_tokens', body.max_output_tokens, { least: 16 }),
    refuses: asked({ max_output_tokens: 15 }),
    accepts: asked({ max_output_tokens: 16 }),
  },
  {
    id: 'call-id-length',
    source: 'https://github.com/orchidfiles/ungate/issues/26',
    rows: ['openai'],
    objection: (body) => eachItem(body, (item, place) => tooLong(`${place}.call_id`, item.call_id, 64)),
    refuses: said(call('i'.repeat(65)), output('i'.repeat(65))),
    accepts: said(call('i'.repeat(64)), output('i'.repeat(64))),
  },
  {
    id: 'item-id',
    source: 'https://github.com/Wei-Shaw/sub2api/issues/3981',
    rows: ['openai'],
    objection: (body) =>
      eachItem(body, (item, place) => {
        const { id } = item
        const prefix =
          isMessage(item) && !isReply(item) ? undefined : PREFIXES[String(item.type ?? 'message')]
        if (typeof id !== 'string' || prefix === undefined) return undefined
        const param = `${place}.id`
        const said = (what: string) => ({
          message: `Invalid '${param}': '${id}'. Expected an ID that ${what}`,
          param,
          code: 'invalid_value',
        })
        if (!NAME.test(id)) {
          return said(
            'contains letters, numbers, underscores, or dashes, but this value contained additional characters.',
          )
        }
        return (
          tooLong(param, id, 64) ?? (id.startsWith(prefix) ? undefined : said(`begins with '${prefix}'.`))
        )
      }),
    refuses: said(call('call_1', { id: 'call_1' }), output('call_1')),
    accepts: said(call('call_1', { id: 'fc_1' }), output('call_1')),
  },
  {
    id: 'unanswered-call',
    source: 'https://github.com/bytedance/trae-agent/issues/245',
    rows: ['openai'],
    objection: (body) => {
      const items = objects(body.input)
      return eachItem(body, ({ call_id: id, type }) => {
        const kind = OUTPUTS[String(type)]
        if (kind === undefined || items.some((item) => item.type === kind.output && item.call_id === id))
          return undefined
        return { message: `No tool output found for ${kind.words} ${id}.`, param: 'input' }
      })
    },
    refuses: said(call('call_1'), USER),
    accepts: said(call('call_1'), output('call_1'), USER),
  },
  {
    id: 'orphan-output',
    source: 'https://github.com/vercel/ai/issues/8216',
    rows: ['openai'],
    objection: (body) =>
      isContinued(body)
        ? undefined
        : eachItem(body, ({ call_id: id, type }, _, n) => {
            const kind = Object.keys(OUTPUTS).find((name) => OUTPUTS[name]?.output === type)
            if (kind === undefined) return undefined
            const before = objects(body.input).slice(0, n)
            if (before.some((item) => calledBy(kind).includes(String(item.type)) && item.call_id === id))
              return undefined
            return {
              message: `No tool call found for ${OUTPUTS[kind]?.words} output with call_id ${id}.`,
              param: 'input',
            }
          }),
    refuses: said(output('call_1'), call('call_1')),
    accepts: { ...said(output('call_1')), previous_response_id: 'resp_1' },
  },
  {
    id: 'thought-alone',
    source: 'https://github.com/openai/openai-node/issues/1567',
    rows: ['openai'],
    objection: (body) => {
      const items = objects(body.input)
      return eachItem(body, (item, _, n) => {
        const next = items[n + 1]
        // Whatever is not an answer of the client's may follow: thoughts, calls, searches, and text.
        const follows =
          next !== undefined && (isMessage(next) ? isReply(next) : !String(next.type).endsWith('_output'))
        if (item.type !== 'reasoning' || follows) return undefined
        const message = `Item '${item.id}' of type 'reasoning' was provided without its required following item.`
        return { message, param: 'input' }
      })
    },
    refuses: said(thought(SEALED), USER),
    accepts: said(thought(SEALED), reply({ type: 'output_text', text: 'Sun.' }), USER),
  },
  {
    id: 'reply-without-its-thought',
    source: 'https://github.com/openai/openai-node/issues/1791',
    rows: ['openai'],
    objection: (body) => {
      if (body.store === false) return undefined
      const items = objects(body.input)
      return eachItem(body, ({ id, type }, _, n) => {
        const thought = thoughtOf(id)
        const isThere = items.slice(0, n).some((item) => item.id === thought)
        if (thought === undefined || isThere) return undefined
        const message = `Item '${id}' of type '${type}' was provided without its required 'reasoning' item: '${thought}'.`
        return { message, param: 'input' }
      })
    },
    refuses: said(call('call_1', { id: idBehindThought('fc', 1) }), output('call_1')),
    accepts: said(
      thought(SEALED, idOfThought(1)),
      call('call_1', { id: idBehindThought('fc', 1) }),
      output('call_1'),
    ),
  },
  {
    id: 'content-of-thought',
    source: 'https://github.com/musistudio/claude-code-router/issues/1783',
    rows: ['openai'],
    objection: (body) =>
      eachItem(body, ({ content, type }, place) =>
        type === 'reasoning' && Array.isArray(content) && content.length > 0
          ? {
              message: `Invalid '${place}.content': array too long. Expected an array with maximum length 0, but got an array with length ${content.length} instead.`,
              param: `${place}.content`,
              code: 'array_above_max_length',
            }
          : undefined,
      ),
    refuses: said(
      { ...thought(SEALED), content: [{ type: 'reasoning_text', text: 'Hm.' }] },
      call('call_1'),
      output('call_1'),
    ),
    accepts: said({ ...thought(SEALED), content: [] }, call('call_1'), output('call_1')),
  },
  {
    id: 'status-of-thought',
    source: 'https://github.com/1jehuang/jcode/issues/1028',
    rows: ['openai'],
    objection: (body) =>
      eachItem(body, ({ status, type }, place) =>
        type === 'reasoning' && status !== undefined
          ? {
              message: `Unknown parameter: '${place}.status'.`,
              param: `${place}.status`,
              code: 'unknown_parameter',
            }
          : undefined,
      ),
    refuses: said({ ...thought(SEALED), status: 'completed' }, call('call_1'), output('call_1')),
    accepts: said(thought(SEALED), call('call_1', { status: 'completed' }), output('call_1')),
  },
  {
    id: 'foreign-thought',
    source: 'https://github.com/anomalyco/opencode/issues/5104',
    rows: ['openai'],
    objection: (body) =>
      eachItem(body, ({ encrypted_content: sealed, id, type }) =>
        type === 'reasoning' && typeof sealed === 'string' && !isFrom('openai', sealed)
          ? {
              message: `The encrypted content for item ${id} could not be verified.`,
              code: 'invalid_encrypted_content',
            }
          : undefined,
      ),
    refuses: said(thought(sign('anthropic', 'x')), call('call_1'), output('call_1')),
    accepts: said(thought(SEALED), call('call_1'), output('call_1')),
  },
  {
    id: 'thought-not-kept',
    source: 'https://github.com/openai/openai-agents-python/issues/919',
    rows: ['openai'],
    objection: (body) =>
      body.store !== false
        ? undefined
        : eachItem(body, ({ encrypted_content: sealed, id, type }) =>
            (type === 'reasoning' && id !== undefined && (sealed ?? null) === null) ||
            type === 'item_reference'
              ? notFound(id)
              : undefined,
          ),
    refuses: { ...said(thought(null), call('call_1'), output('call_1')), store: false },
    accepts: { ...said(thought(SEALED), call('call_1'), output('call_1')), store: false },
  },
  {
    id: 'part-of-another-role',
    source: 'https://github.com/jeremychone/rust-genai/pull/119',
    rows: ['openai'],
    objection: (body) =>
      eachItem(body, (item, place) =>
        first(objects(item.content), ({ type }, n) => {
          if (!isMessage(item)) return undefined
          const ofReply = ['output_text', 'refusal']
          const ofOthers = ['input_text', 'input_image', 'input_file']
          const [wanted, wrong] = isReply(item) ? [ofReply, ofOthers] : [ofOthers, ofReply]
          return wrong.includes(String(type)) ? wrongValue(`${place}.content[${n}]`, type, wanted) : undefined
        }),
      ),
    refuses: said(reply({ type: 'input_text', text: 'Sun.' }), USER),
    accepts: said(reply({ type: 'output_text', text: 'Sun.' }), USER),
  },
  {
    id: 'data-of-image',
    source: 'https://github.com/mkht/PSOpenAI/issues/43',
    rows: ['openai'],
    objection: (body) => eachPart(body, (part, place) => noImage(`${place}.image_url`, part.image_url)),
    refuses: asked({ input: [picture('data:application/pdf;base64,AA==')] }),
    accepts: asked({ input: [picture('data:image/png;base64,AA==')] }),
  },
  {
    id: 'data-of-file',
    source: 'https://github.com/vercel/ai/issues/7266',
    rows: ['openai'],
    objection: (body) => eachPart(body, (part, place) => noFileData(`${place}.file_data`, part.file_data)),
    refuses: asked({ input: [pdf('https://example.com/a.pdf')] }),
    accepts: asked({ input: [pdf('data:application/pdf;base64,AA==')] }),
  },
  {
    id: 'name',
    source: SPEC,
    rows: ['openai'],
    objection: (body) =>
      eachTool(
        body,
        ({ name }, place) => tooLong(`${place}.name`, name, 128) ?? mismatched(`${place}.name`, name, NAME),
      ) ??
      eachItem(body, (item, place) =>
        OUTPUTS[String(item.type)] === undefined ? undefined : mismatched(`${place}.name`, item.name, NAME),
      ),
    refuses: asked({ tools: [{ type: 'function', name: 'a.b', parameters: null, strict: false }] }),
    accepts: asked({ tools: [{ type: 'function', name: 'n'.repeat(128), parameters: null, strict: false }] }),
  },
  {
    id: 'parameters',
    source: 'https://github.com/spring-projects/spring-ai/issues/4776',
    rows: ['openai'],
    objection: (body) =>
      eachTool(body, ({ name, parameters }, place) => badParameters(`${place}.parameters`, name, parameters)),
    refuses: asked(look({ type: 'object' })),
    accepts: asked(look({ type: 'object', properties: {} })),
  },
  {
    id: 'strict-parameters',
    source: 'https://github.com/lastmile-ai/openai-agents-mcp/issues/2',
    rows: ['openai'],
    objection: (body) =>
      eachTool(body, ({ name, parameters, strict }, place) =>
        strict === true ? badStrictParameters(`${place}.parameters`, name, parameters) : undefined,
      ),
    refuses: asked(look({ type: 'object', properties: { a: { type: 'string' } } }, true)),
    accepts: asked(look({ type: 'object', properties: { a: { type: 'string' } } })),
  },
  {
    id: 'strict-format',
    source: 'https://platform.openai.com/docs/guides/structured-outputs',
    rows: ['openai'],
    objection: ({ text }) => {
      const { name, schema, strict } = isObject(text) && isObject(text.format) ? text.format : {}
      const place = 'text.format.name'
      return (
        tooLong(place, name, 64) ??
        mismatched(place, name, NAME) ??
        (strict === true ? badFormat('text.format.schema', name, schema) : undefined)
      )
    },
    refuses: asked(format(true)),
    accepts: asked(format(false)),
  },
  {
    id: 'label-length',
    source: 'https://github.com/earendil-works/pi/issues/4720',
    rows: ['openai'],
    objection: longLabel,
    refuses: asked({ prompt_cache_key: 'k'.repeat(65) }),
    accepts: asked({ prompt_cache_key: 'k'.repeat(64) }),
  },
  {
    id: 'metadata',
    source: 'https://github.com/spiceai/docs/issues/928',
    rows: ['openai'],
    objection: badMetadata,
    refuses: asked({ metadata: { ['k'.repeat(65)]: 'v' } }),
    accepts: asked({ metadata: { ['k'.repeat(64)]: 'v' } }),
  },
  {
    id: 'range',
    source: SPEC,
    rows: ['openai'],
    objection: (body) =>
      outside('temperature', body.temperature, { least: 0, most: 2 }) ??
      outside('top_p', body.top_p, { least: 0, most: 1 }) ??
      outside('top_logprobs', body.top_logprobs, { least: 0, most: 20 }),
    refuses: asked({ top_p: 1.5 }),
    accepts: asked({ top_p: 1 }),
  },
]

export function refusalOfResponses(row: StrictRow, { body }: StrictRequest): StrictRefusal | undefined {
  if (isObject(body)) {
    const refusal = first(RESPONSES_RULES, (rule) => {
      const objection = rule.rows.includes(row) ? rule.objection(body, row) : undefined
      return objection && refused(rule.id, objection)
    })
    if (refusal !== undefined) return refusal
  }
  const misfit = misfitOf('responses', body)
  return misfit && refused('shape', wordsOf(misfit))
}

const refused = (rule: string, objection: Objection): StrictRefusal => ({
  status: objection.status ?? 400,
  body: openAiBody(objection),
  rule,
})
