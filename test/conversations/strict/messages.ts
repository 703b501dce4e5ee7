import type { StrictRefusal, StrictRequest } from './refusal.js'
import type { Objection, Rule } from './rule.js'
import { first, isObject, type Json, type Misfit, misfitFinder, objects, type Shapes } from './shape.js'
import { ANTHROPIC } from './shapes/index.js'
import { isFrom, sign } from './signatures.js'

/** A rule of Anthropic's API, which some lists of betas change. */
export interface MessagesRule extends Omit<Rule, 'objection' | 'rows'> {
  readonly objection: (body: Json, betas: string) => Objection | undefined
  /** The header of the examples. */
  readonly betas?: string
}

const SAMPLING = ['temperature', 'top_p', 'top_k']

/**
 * The types lack what only older models take, which the API knows all the same, and the scope of marks, which Claude
 * Code sends. They have the list of betas, which the library sends as a header.
 */
const SHAPES: Shapes = {
  roots: ANTHROPIC.roots,
  named: Object.fromEntries(
    Object.entries(ANTHROPIC.named).map(([name, shape]) => {
      if (typeof shape !== 'object' || !('members' in shape)) return [name, shape]
      const { betas: _, ...members } = shape.members
      if (name === 'BetaCacheControlEphemeral') {
        const optional = [...(shape.optional ?? []), 'scope']
        return [name, { ...shape, members: { ...members, scope: 'string' }, optional }]
      }
      if (!name.startsWith('MessageCreateParamsBase')) return [name, { ...shape, members }]
      const optional = [...(shape.optional ?? []), ...SAMPLING]
      const sampling = Object.fromEntries(SAMPLING.map((member) => [member, 'number' as const]))
      return [name, { ...shape, members: { ...members, ...sampling }, optional }]
    }),
  ),
}

const THINKING_DOCS = 'https://docs.claude.com/en/docs/build-with-claude/extended-thinking'

const misfitOf = misfitFinder(SHAPES)

// What examples are made of.
const USER = { role: 'user', content: 'Hi' }
const LOOK = { name: 'look', input_schema: { type: 'object' } }
const asked = (more: Json): Json => ({
  model: 'claude-sonnet-4-5',
  max_tokens: 4096,
  messages: [USER],
  ...more,
})
const said = (...messages: readonly Json[]): Json => asked({ messages: [USER, ...messages] })
const reply = (...content: readonly Json[]): Json => ({ role: 'assistant', content })
const answer = (...content: readonly Json[]): Json => ({ role: 'user', content })
const use = (id: string, name = 'look'): Json => ({ type: 'tool_use', id, name, input: {} })
const result = (id: string): Json => ({ type: 'tool_result', tool_use_id: id, content: 'sun' })
const text = (value: string, more: Json = {}): Json => ({ type: 'text', text: value, ...more })
const thought = (value: string, signature = sign('anthropic', value)): Json => ({
  type: 'thinking',
  thinking: value,
  signature,
})
const cached = (ttl?: string): Json => ({
  cache_control: { type: 'ephemeral', ...(ttl === undefined ? {} : { ttl }) },
})
const THINKING = { thinking: { type: 'enabled', budget_tokens: 1024 } }

interface Turn {
  readonly role: unknown
  /** The number of its first message: the API joins neighbours of one role. */
  readonly at: number
  readonly blocks: readonly Json[]
}

const blocksOf = (content: unknown): readonly Json[] =>
  typeof content === 'string' ? [{ type: 'text', text: content }] : objects(content)

function turnsOf({ messages }: Json): readonly Turn[] {
  const turns: Turn[] = []
  for (const [at, { content, role }] of objects(messages).entries()) {
    const before = turns.at(-1)
    const blocks = blocksOf(content)
    if (before === undefined || before.role !== role) turns.push({ role, at, blocks })
    else turns[turns.length - 1] = { ...before, blocks: [...before.blocks, ...blocks] }
  }
  return turns
}

const ofType = (blocks: readonly Json[], type: string) => blocks.filter((block) => block.type === type)

const eachBlock = (body: Json, find: (block: Json, place: string, message: Json) => Objection | undefined) =>
  first(objects(body.messages), (message, n) =>
    first(objects(message.content), (block, at) => find(block, `messages.${n}.content.${at}`, message)),
  )

/** All texts that the API looks at, those within results of tools too. */
function texts(body: Json): readonly { readonly block: Json; readonly of: string }[] {
  const within = (blocks: readonly Json[], of: string): { block: Json; of: string }[] =>
    blocks.flatMap((block) => {
      if (block.type === 'tool_result') return within(objects(block.content), of)
      return block.type === 'text' ? [{ block, of }] : []
    })
  return [
    ...within(objects(body.system), 'system'),
    ...objects(body.messages).flatMap(({ content }) => within(objects(content), 'messages')),
  ]
}

/** All marks for the cache, in the order in which the API reads them. */
function marks(body: Json): readonly { readonly place: string; readonly mark: Json }[] {
  const found: { place: string; mark: Json }[] = []
  const look = (value: unknown, place: string) => {
    if (isObject(value) && isObject(value.cache_control)) found.push({ place, mark: value.cache_control })
  }
  for (const [n, tool] of objects(body.tools).entries()) look(tool, `tools.${n}`)
  for (const [n, block] of objects(body.system).entries()) look(block, `system.${n}`)
  for (const [n, message] of objects(body.messages).entries()) {
    for (const [at, block] of objects(message.content).entries()) {
      look(block, `messages.${n}.content.${at}`)
      for (const [inner, part] of objects(block.content).entries()) {
        look(part, `messages.${n}.content.${at}.${block.type}.content.${inner}`)
      }
    }
  }
  return found
}

const isThinking = ({ thinking }: Json) => isObject(thinking) && thinking.type !== 'disabled'
const budgetOf = ({ thinking }: Json) =>
  isObject(thinking) && typeof thinking.budget_tokens === 'number' ? thinking.budget_tokens : undefined

const isModel = ({ model }: Json, pattern: RegExp) => pattern.test(String(model))
/** Members that only one of the betas has. */
const BETAS: Readonly<Record<string, RegExp>> = {
  context_management: /context-management|compact/,
  mcp_servers: /mcp-client/,
}

/** From Claude 4.6 on, replies cannot be begun by the client. */
const WITHOUT_PREFILL = /claude-(opus|sonnet|haiku)-(4-[6-9]|[5-9])|fable|mythos/
/** From Claude 4.7 on, thinking has no budget. */
const WITHOUT_BUDGET = /claude-(opus|sonnet|haiku)-(4-[7-9]|[5-9])|fable|mythos/
const ONE_OF_TWO = /claude-opus-4-[1-9](?!\d)|claude-(sonnet|haiku)-4-[5-9](?!\d)/

/** An object within the schema of a reply that does not say that it has no other members. */
function openObject(place: string, format: unknown): Objection | undefined {
  const isOpen = (schema: unknown): boolean => {
    if (!isObject(schema)) return false
    const inner = [schema.properties, schema.$defs, schema.definitions].flatMap((all) =>
      isObject(all) ? Object.values(all) : [],
    )
    const isBare = schema.type === 'object' && schema.additionalProperties !== false
    return isBare || [...inner, schema.items, ...objects(schema.anyOf), ...objects(schema.allOf)].some(isOpen)
  }
  return isObject(format) && isOpen(format.schema)
    ? { message: `${place}: For 'object' type, 'additionalProperties' must be explicitly set to false` }
    : undefined
}

export const MESSAGES_RULES: readonly MessagesRule[] = [
  {
    id: 'member-of-a-beta',
    source: 'https://github.com/anthropics/claude-code/issues/14135',
    betas: 'interleaved-thinking-2025-05-14',
    objection: (body, betas) =>
      first(Object.keys(BETAS), (name) =>
        body[name] === undefined || BETAS[name]?.test(betas)
          ? undefined
          : { message: `${name}: Extra inputs are not permitted` },
      ),
    refuses: asked({ context_management: { edits: [] } }),
    accepts: asked({}),
  },
  {
    id: 'updates-of-thinking',
    source: 'https://platform.claude.com/docs/en/build-with-claude/thinking',
    betas: 'interleaved-thinking-2025-05-14',
    objection: ({ thinking }, betas) =>
      !isObject(thinking) || thinking.display !== 'updates' || betas.includes('thinking-display-updates')
        ? undefined
        : { message: "thinking.adaptive.display: Input should be 'summarized' or 'omitted'" },
    refuses: asked({ max_tokens: 4_096, thinking: { type: 'adaptive', display: 'updates' } }),
    accepts: asked({ max_tokens: 4_096, thinking: { type: 'adaptive', display: 'omitted' } }),
  },
  {
    id: 'scope-of-mark',
    source: 'https://github.com/caozhiyuan/copilot-api/issues/145',
    betas: 'interleaved-thinking-2025-05-14',
    objection: (body, betas) =>
      first(marks(body), ({ mark, place }) =>
        mark.scope === undefined || betas.includes('prompt-caching-scope')
          ? undefined
          : { message: `${place}.cache_control.ephemeral.scope: Extra inputs are not permitted` },
      ),
    refuses: asked({ system: [text('a', { cache_control: { type: 'ephemeral', scope: 'global' } })] }),
    accepts: asked({ system: [text('a', cached())] }),
  },
  {
    id: 'no-messages',
    source: 'https://docs.claude.com/en/api/messages',
    objection: ({ messages }) =>
      Array.isArray(messages) && messages.length === 0
        ? { message: 'messages: at least one message is required' }
        : undefined,
    refuses: asked({ messages: [] }),
    accepts: asked({}),
  },
  {
    id: 'empty-message',
    source: 'https://github.com/anthropics/claude-code/issues/6774',
    objection: ({ messages }) => {
      const all = objects(messages)
      return first(all, ({ content, role }, n) => {
        const isEmpty = content === '' || (Array.isArray(content) && content.length === 0)
        if (!isEmpty || (role === 'assistant' && n === all.length - 1)) return undefined
        return {
          message: `messages.${n}: all messages must have non-empty content except for the optional final assistant message`,
        }
      })
    },
    refuses: said({ role: 'assistant', content: [] }, USER),
    accepts: said({ role: 'assistant', content: [] }),
  },
  {
    id: 'mark-on-empty-text',
    source: 'https://github.com/anthropics/claude-code/issues/54039',
    objection: (body) =>
      eachBlock(body, (block, place) =>
        block.type === 'text' && block.text === '' && isObject(block.cache_control)
          ? { message: `${place}.text: cache_control cannot be set for empty text blocks` }
          : undefined,
      ),
    refuses: said(answer(text('', cached()))),
    accepts: said(answer(text('a', cached()))),
  },
  {
    id: 'empty-text',
    source: 'https://github.com/anthropics/claude-code/issues/59812',
    objection: (body) =>
      first(texts(body), ({ block, of }) =>
        block.text === '' ? { message: `${of}: text content blocks must be non-empty` } : undefined,
      ),
    refuses: said(answer(text(''), text('real'))),
    accepts: said(answer(text(' '), text('real'))),
  },
  {
    id: 'blank-text',
    source: 'https://github.com/LibreChat-AI/agents/pull/124',
    objection: ({ messages }) =>
      first(objects(messages), ({ content }) => {
        const all = ofType(blocksOf(content), 'text')
        const isBlank = all.length > 0 && all.every((block) => String(block.text).trim() === '')
        return isBlank && content !== ''
          ? { message: 'messages: text content blocks must contain non-whitespace text' }
          : undefined
      }),
    refuses: said(reply(text('\n'), use('a')), answer(result('a'))),
    accepts: said(reply(use('a')), answer(result('a'))),
  },
  {
    id: 'unanswered-use',
    source: 'https://github.com/anthropics/claude-code/issues/8210',
    objection: (body) => {
      const turns = turnsOf(body)
      return first(turns, ({ at, blocks }, n) => {
        const next = turns[n + 1]?.blocks ?? []
        const other = next.findIndex(({ type }) => type !== 'tool_result')
        const answered = next.slice(0, other < 0 ? undefined : other).map(({ tool_use_id: id }) => id)
        const missing = ofType(blocks, 'tool_use')
          .map(({ id }) => id)
          .filter((id) => !answered.includes(id))
        if (missing.length === 0) return undefined
        return {
          message: `messages.${at}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${missing.join(', ')}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`,
        }
      })
    },
    refuses: said(reply(use('a')), answer(text('And?'), result('a'))),
    accepts: said(reply(use('a')), answer(result('a'), text('And?'))),
  },
  {
    id: 'orphan-result',
    source: 'https://github.com/anthropics/claude-code/issues/13460',
    objection: (body) => {
      const turns = turnsOf(body)
      return first(turns, ({ at, blocks }, n) =>
        first(blocks, (block, inner) => {
          if (block.type !== 'tool_result') return undefined
          const used = ofType(turns[n - 1]?.blocks ?? [], 'tool_use').some(
            ({ id }) => id === block.tool_use_id,
          )
          if (used) return undefined
          return {
            message: `messages.${at}.content.${inner}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${block.tool_use_id}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`,
          }
        }),
      )
    },
    refuses: said(answer(result('a'))),
    accepts: said(reply(use('a')), answer(result('a'))),
  },
  {
    id: 'use-id',
    source: 'https://github.com/maximhq/bifrost/issues/5097',
    objection: (body) =>
      eachBlock(body, (block, place) => {
        const name =
          block.type === 'tool_use' ? 'id' : block.type === 'tool_result' ? 'tool_use_id' : undefined
        if (name === undefined || /^[a-zA-Z0-9_-]+$/.test(String(block[name]))) return undefined
        return { message: `${place}.${block.type}.${name}: String should match pattern '^[a-zA-Z0-9_-]+$'` }
      }),
    refuses: said(reply(use('functions.look:0')), answer(result('functions.look:0'))),
    accepts: said(reply(use('functions_look-0')), answer(result('functions_look-0'))),
  },
  {
    id: 'repeated-use-id',
    source: 'https://github.com/BerriAI/litellm/issues/23510',
    objection: (body) => {
      const seen = new Set<unknown>()
      return eachBlock(body, (block, place) => {
        if (block.type !== 'tool_use') return undefined
        if (seen.has(block.id)) return { message: `${place}: \`tool_use\` ids must be unique` }
        seen.add(block.id)
        return undefined
      })
    },
    refuses: said(reply(use('a')), answer(result('a')), reply(use('a')), answer(result('a'))),
    accepts: said(reply(use('a')), answer(result('a')), reply(use('b')), answer(result('b'))),
  },
  {
    id: 'repeated-result',
    source: 'https://docs.claude.com/en/docs/agents-and-tools/tool-use/implement-tool-use',
    objection: (body) =>
      first(turnsOf(body), ({ at, blocks }) => {
        const ids = ofType(blocks, 'tool_result').map(({ tool_use_id: id }) => id)
        const twice = ids.find((id, n) => ids.indexOf(id) !== n)
        if (twice === undefined) return undefined
        return {
          message: `messages.${at}.content: each tool_use must have a single result. Found multiple \`tool_result\` blocks with id: ${twice}`,
        }
      }),
    refuses: said(reply(use('a')), answer(result('a'), result('a'))),
    accepts: said(reply(use('a'), use('b')), answer(result('a'), result('b'))),
  },
  {
    id: 'tool-name',
    source: 'https://github.com/anthropics/claude-code/issues/96152',
    objection: ({ tools }) =>
      first(objects(tools), ({ name, input_schema: schema }, n) => {
        if (schema === undefined || typeof name !== 'string') return undefined
        const place = `tools.${n}.custom.name`
        if (name.length > 128) return { message: `${place}: String should have at most 128 characters` }
        return /^[a-zA-Z0-9_-]{1,128}$/.test(name)
          ? undefined
          : { message: `${place}: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'` }
      }),
    refuses: asked({ tools: [{ ...LOOK, name: 'a.b' }] }),
    accepts: asked({ tools: [{ ...LOOK, name: 'n'.repeat(128) }] }),
  },
  {
    id: 'used-name',
    source: 'https://github.com/anthropics/claude-code/issues/23681',
    objection: (body) =>
      eachBlock(body, ({ name, type }, place) =>
        type === 'tool_use' && String(name).length > 200
          ? { message: `${place}.tool_use.name: String should have at most 200 characters` }
          : undefined,
      ),
    refuses: said(reply(use('a', 'n'.repeat(201))), answer(result('a'))),
    accepts: said(reply(use('a', 'n'.repeat(200))), answer(result('a'))),
  },
  {
    id: 'repeated-tool',
    source: 'https://github.com/danny-avila/LibreChat/issues/13162',
    objection: ({ tools }) => {
      const names = objects(tools).map(({ name }) => name)
      return new Set(names).size < names.length ? { message: 'tools: Tool names must be unique.' } : undefined
    },
    refuses: asked({ tools: [LOOK, LOOK] }),
    accepts: asked({ tools: [LOOK, { ...LOOK, name: 'see' }] }),
  },
  {
    id: 'input-schema',
    source: 'https://github.com/anthropics/claude-code/issues/27337',
    objection: ({ tools }) =>
      first(objects(tools), ({ input_schema: schema }, n) =>
        isObject(schema) && ['oneOf', 'allOf', 'anyOf'].some((name) => schema[name] !== undefined)
          ? {
              message: `tools.${n}.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level`,
            }
          : undefined,
      ),
    refuses: asked({ tools: [{ ...LOOK, input_schema: { type: 'object', anyOf: [{ required: ['a'] }] } }] }),
    accepts: asked({
      tools: [
        { ...LOOK, input_schema: { type: 'object', properties: { a: { anyOf: [{ type: 'string' }] } } } },
      ],
    }),
  },
  {
    id: 'output-schema',
    source: 'https://github.com/veryfront/veryfront-code/pull/3921',
    objection: ({ output_config: config, output_format: format }) => {
      const inConfig = isObject(config) ? config.format : undefined
      return openObject('output_config.format.schema', inConfig) ?? openObject('output_format.schema', format)
    },
    refuses: asked({
      output_config: { format: { type: 'json_schema', schema: { type: 'object', properties: {} } } },
    }),
    accepts: asked({
      output_config: {
        format: {
          type: 'json_schema',
          schema: { type: 'object', properties: {}, additionalProperties: false },
        },
      },
    }),
  },
  {
    id: 'choice-without-tools',
    source: 'https://github.com/ayunis-core/ayunis-core/pull/813',
    objection: ({ tool_choice: choice, tools }) =>
      isObject(choice) && choice.type !== 'none' && objects(tools).length === 0
        ? { message: 'tool_choice may only be specified while providing tools' }
        : undefined,
    refuses: asked({ tool_choice: { type: 'auto' } }),
    accepts: asked({ tool_choice: { type: 'auto' }, tools: [LOOK] }),
  },
  {
    id: 'label-of-user',
    source: 'https://github.com/BerriAI/litellm/pull/10102',
    objection: ({ metadata }) =>
      isObject(metadata) && /^[^@\s]+@[^@\s]+\.[a-z]+$/i.test(String(metadata.user_id))
        ? { message: 'metadata.user_id: user_id appears to contain an email address' }
        : undefined,
    refuses: asked({ metadata: { user_id: 'alice@example.com' } }),
    accepts: asked({ metadata: { user_id: 'user_1@session' } }),
  },
  {
    id: 'marks',
    source: 'https://github.com/continuedev/continue/pull/6937',
    objection: (body) => {
      const { length } = marks(body)
      return length > 4
        ? { message: `A maximum of 4 blocks with cache_control may be provided. Found ${length}.` }
        : undefined
    },
    refuses: said(answer(...['a', 'b', 'c', 'd', 'e'].map((one) => text(one, cached())))),
    accepts: said(answer(...['a', 'b', 'c', 'd'].map((one) => text(one, cached())))),
  },
  {
    id: 'order-of-marks',
    source: 'https://github.com/cnighswonger/claude-code-cache-fix/issues/44',
    objection: (body) => {
      const all = marks(body)
      const short = all.findIndex(({ mark }) => mark.ttl !== '1h')
      const late = all.find(({ mark }, n) => short >= 0 && n > short && mark.ttl === '1h')
      if (late === undefined) return undefined
      return {
        message: `${late.place}.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. Note that blocks are processed in the following order: \`tools\`, \`system\`, \`messages\`.`,
      }
    },
    refuses: { ...said(answer(text('a', cached('1h')))), system: [text('b', cached())] },
    accepts: { ...said(answer(text('a', cached()))), system: [text('b', cached('1h'))] },
  },
  {
    id: 'smallest-bound',
    source: 'https://docs.claude.com/en/api/messages',
    objection: ({ max_tokens: bound }) =>
      typeof bound === 'number' && bound < 0
        ? { message: 'max_tokens: Input should be greater than or equal to 0' }
        : undefined,
    refuses: asked({ max_tokens: -1 }),
    accepts: asked({ max_tokens: 0 }),
  },
  {
    id: 'temperature',
    source: 'https://docs.claude.com/en/api/messages',
    objection: ({ temperature }) =>
      typeof temperature === 'number' && temperature > 1
        ? { message: 'temperature: range: 0..1' }
        : undefined,
    refuses: asked({ temperature: 1.5 }),
    accepts: asked({ temperature: 1 }),
  },
  {
    id: 'temperature-and-top-p',
    source: 'https://github.com/BerriAI/litellm/issues/15097',
    objection: (body) =>
      isModel(body, ONE_OF_TWO) && body.temperature !== undefined && body.top_p !== undefined
        ? {
            message:
              '`temperature` and `top_p` cannot both be specified for this model. Please use only one.',
          }
        : undefined,
    refuses: asked({ temperature: 0.5, top_p: 0.9 }),
    accepts: asked({ temperature: 0.5 }),
  },
  {
    id: 'stop-sequences',
    source: 'https://github.com/BerriAI/litellm/issues/3286',
    objection: ({ stop_sequences: stops }) =>
      Array.isArray(stops) && stops.some((stop) => typeof stop === 'string' && stop.trim() === '')
        ? { message: 'stop_sequences: each stop sequence must contain non-whitespace' }
        : undefined,
    refuses: asked({ stop_sequences: ['\n\n'] }),
    accepts: asked({ stop_sequences: ['\n\nHuman:'] }),
  },
  {
    id: 'kind-of-thinking',
    source: 'https://github.com/anima-research/connectome-host/pull/33',
    objection: (body) =>
      isModel(body, WITHOUT_BUDGET) && isObject(body.thinking) && body.thinking.type === 'enabled'
        ? {
            message:
              '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.',
          }
        : undefined,
    refuses: asked({ ...THINKING, model: 'claude-opus-4-7' }),
    accepts: asked({ thinking: { type: 'adaptive' }, model: 'claude-opus-4-7' }),
  },
  {
    id: 'smallest-budget',
    source: 'https://github.com/themaximalist/llm.js/issues/30',
    objection: (body) =>
      (budgetOf(body) ?? 1024) < 1024
        ? { message: 'thinking.enabled.budget_tokens: Input should be greater than or equal to 1024' }
        : undefined,
    refuses: asked({ thinking: { type: 'enabled', budget_tokens: 1023 } }),
    accepts: asked(THINKING),
  },
  {
    id: 'largest-budget',
    source: `${THINKING_DOCS}#max-tokens-and-context-window-size-with-extended-thinking`,
    objection: (body, betas) => {
      const budget = budgetOf(body)
      const { max_tokens: bound } = body
      const fits = budget === undefined || typeof bound !== 'number' || bound > budget
      return fits || betas.includes('interleaved')
        ? undefined
        : {
            message: `\`max_tokens\` must be greater than \`thinking.budget_tokens\`. Please consult our documentation at ${THINKING_DOCS}#max-tokens-and-context-window-size-with-extended-thinking`,
          }
    },
    refuses: asked({ ...THINKING, max_tokens: 1024 }),
    accepts: asked({ ...THINKING, max_tokens: 1025 }),
  },
  {
    id: 'temperature-of-thinking',
    source: 'https://github.com/Smart-AI-Memory/attune-ai/pull/730',
    objection: (body) =>
      isThinking(body) && body.temperature !== undefined && body.temperature !== 1
        ? {
            message: `\`temperature\` may only be set to 1 when thinking is enabled or in adaptive mode. Please consult our documentation at ${THINKING_DOCS}#important-considerations-when-using-extended-thinking`,
          }
        : undefined,
    refuses: asked({ ...THINKING, temperature: 0.5 }),
    accepts: asked({ ...THINKING, temperature: 1 }),
  },
  {
    id: 'forced-use-with-thinking',
    source: 'https://github.com/can1357/oh-my-pi/issues/341',
    objection: (body) =>
      isThinking(body) &&
      isObject(body.tool_choice) &&
      ['any', 'tool'].includes(String(body.tool_choice.type))
        ? { message: 'Thinking may not be enabled when tool_choice forces tool use.' }
        : undefined,
    refuses: asked({ ...THINKING, tools: [LOOK], tool_choice: { type: 'any' } }),
    accepts: asked({ ...THINKING, tools: [LOOK], tool_choice: { type: 'auto' } }),
  },
  {
    id: 'signature',
    source: 'https://github.com/anthropics/claude-code/issues/63284',
    objection: (body) => {
      const latest = objects(body.messages).findLast(({ role }) => role === 'assistant')
      return eachBlock(body, (block, place, message) => {
        if (block.type === 'redacted_thinking') {
          return isFrom('anthropic', String(block.data))
            ? undefined
            : { message: `${place}: Invalid \`data\` in \`redacted_thinking\` block` }
        }
        if (block.type !== 'thinking' || block.signature === sign('anthropic', String(block.thinking)))
          return undefined
        return isFrom('anthropic', String(block.signature)) && message === latest
          ? {
              message: `${place}: \`thinking\` or \`redacted_thinking\` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.`,
            }
          : { message: `${place}: Invalid \`signature\` in \`thinking\` block` }
      })
    },
    refuses: said(reply(thought('a', sign('anthropic', 'b')), text('Sun.')), USER),
    accepts: said(reply(thought('a'), text('Sun.')), USER),
  },
  {
    id: 'thought-at-the-end',
    source: 'https://github.com/tailcallhq/forgecode/issues/2107',
    objection: (body) =>
      first(turnsOf(body), ({ at, blocks, role }) => {
        const type = String(blocks.at(-1)?.type)
        return role === 'assistant' && ['thinking', 'redacted_thinking'].includes(type)
          ? { message: `messages.${at}: The final block in an assistant message cannot be \`${type}\`.` }
          : undefined
      }),
    refuses: said(reply(thought('x')), USER),
    accepts: said(reply(thought('x'), text('Sun.')), USER),
  },
  {
    id: 'thought-without-thinking',
    source: 'https://github.com/tailcallhq/forgecode/issues/1853',
    objection: (body) => {
      const all = objects(body.messages)
      const last = all.at(-1)
      const at = objects(last?.content).findIndex(
        ({ type }) => type === 'thinking' || type === 'redacted_thinking',
      )
      if (isThinking(body) || last?.role !== 'assistant' || at < 0) return undefined
      return {
        message: `messages.${all.length - 1}.content.${at}: When thinking is disabled, an \`assistant\` message in the final position cannot contain \`thinking\`. To use thinking blocks, enable \`thinking\` in your request.`,
      }
    },
    refuses: said(reply(thought('x'), text('The'))),
    accepts: said(reply(thought('x'), text('The')), USER),
  },
  {
    id: 'use-without-thought',
    source: `${THINKING_DOCS}#preserving-thinking-blocks`,
    objection: (body) => {
      if (!isObject(body.thinking) || body.thinking.type !== 'enabled') return undefined
      const turns = turnsOf(body)
      // Back to the reply that began the uses whose results come last.
      let began: Turn | undefined
      for (let n = turns.length - 1; turns[n]?.blocks[0]?.type === 'tool_result'; n -= 2) began = turns[n - 1]
      const type = began?.blocks[0]?.type
      if (began === undefined || type === 'thinking' || type === 'redacted_thinking') return undefined
      return {
        message: `messages.${began.at}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`${type}\`. When \`thinking\` is enabled, a final \`assistant\` message must start with a thinking block (preceeding the lastmost set of \`tool_use\` and \`tool_result\` blocks). We recommend you include thinking blocks from previous turns. To avoid this requirement, disable \`thinking\`. Please consult our documentation at ${THINKING_DOCS}`,
      }
    },
    refuses: { ...said(reply(use('a')), answer(result('a'))), ...THINKING },
    accepts: {
      ...said(reply(thought('x'), use('a')), answer(result('a')), reply(use('b')), answer(result('b'))),
      ...THINKING,
    },
  },
  {
    id: 'prefill',
    source: 'https://github.com/agenticloops-ai/agentic-ai-engineering/issues/43',
    objection: (body) =>
      isModel(body, WITHOUT_PREFILL) && objects(body.messages).at(-1)?.role === 'assistant'
        ? {
            message:
              'This model does not support assistant message prefill. The conversation must end with a user message.',
          }
        : undefined,
    refuses: { ...said(reply(text('The'))), model: 'claude-opus-4-6' },
    accepts: said(reply(text('The'))),
  },
  {
    id: 'end-of-prefill',
    source: 'https://docs.claude.com/en/docs/build-with-claude/prompt-engineering/prefill-claudes-response',
    objection: (body) => {
      const last = objects(body.messages).at(-1)
      const block = last?.role === 'assistant' ? blocksOf(last.content).at(-1) : undefined
      return block?.type === 'text' && /\S\s+$/.test(String(block.text))
        ? { message: 'messages: final assistant content cannot end with trailing whitespace' }
        : undefined
    },
    refuses: said(reply(text('The '))),
    accepts: said(reply(text('The ')), USER),
  },
]

export function refusalOfMessages({ path, headers, body }: StrictRequest): StrictRefusal | undefined {
  if (headers['anthropic-version'] === undefined) {
    return refused('version', { message: 'anthropic-version: header is required' })
  }
  const counts = path.split('?')[0]?.endsWith('/count_tokens') === true
  const betas = headers['anthropic-beta']
  const root = betas !== undefined ? (counts ? 'betaCount' : 'beta') : counts ? 'count' : 'messages'
  const misfit = misfitOf(root, body)
  if (misfit !== undefined) return refused('shape', wordsOf(misfit))
  return first(MESSAGES_RULES, (rule) => {
    const objection = isObject(body) ? rule.objection(body, betas ?? '') : undefined
    return objection && refused(rule.id, objection)
  })
}

const TYPES: Readonly<Record<string, string>> = {
  string: 'string',
  number: 'number',
  boolean: 'boolean',
  null: 'None',
  list: 'list',
  object: 'dictionary',
}

/** Pydantic's words, as the API passes them on. */
function wordsOf(misfit: Misfit): Objection {
  const place = misfit.tags.join('.')
  if (misfit.kind === 'unknown') return { message: `${place}: Extra inputs are not permitted` }
  if (misfit.kind === 'missing') return { message: `${place}: Field required` }
  if (misfit.kind === 'value') {
    const values = misfit.wanted.map((value) => `'${value}'`)
    if (misfit.path.at(-1) === 'type' && values.length > 1) {
      const union = misfit.tags.slice(0, -1).join('.')
      return {
        message: `${union}: Input tag '${misfit.value}' found using 'type' does not match any of the expected tags: ${values.join(', ')}`,
      }
    }
    const last = values.length > 1 ? `${values.slice(0, -1).join(', ')} or ${values.at(-1)}` : values[0]
    return { message: `${place}: Input should be ${last}` }
  }
  const wanted = misfit.wanted.find((name) => name !== 'null') ?? 'null'
  return { message: `${place}: Input should be a valid ${TYPES[wanted] ?? wanted}` }
}

const refused = (
  rule: string,
  { message, status = 400, type = 'invalid_request_error' }: Objection,
): StrictRefusal => ({
  status,
  body: { type: 'error', error: { type, message }, request_id: 'req_strict' },
  rule,
})
