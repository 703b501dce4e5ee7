import type { StrictRefusal, StrictRequest, StrictRow } from './index.js'
import {
  badFormat,
  badMetadata,
  badParameters,
  badStrictParameters,
  emptyArray,
  longLabel,
  mismatched,
  NAME,
  noFileData,
  noImage,
  openAiBody,
  outside,
  tooLong,
  wordsOf,
} from './openai-words.js'
import type { Objection, Rule } from './rule.js'
import { first, isObject, type Json, type Misfit, misfitFinder, objects } from './shape.js'
import { OPENAI } from './shapes/index.js'
import { isFrom, SKIP_SIGNATURE, sign } from './signatures.js'

const SPEC = 'https://github.com/openai/openai-openapi'

const misfitOf = misfitFinder(OPENAI)

// What examples are made of.
const USER = { role: 'user', content: 'Hi' }
const asked = (more: Json): Json => ({ model: 'm', messages: [USER], ...more })
const said = (...messages: readonly Json[]): Json => ({ model: 'm', messages: [USER, ...messages] })
const call = (id: string, name = 'look'): Json => ({
  id,
  type: 'function',
  function: { name, arguments: '{}' },
})
const calls = (...all: readonly Json[]): Json => ({ role: 'assistant', content: '', tool_calls: all })
const result = (id: string, content: unknown = 'sun'): Json => ({ role: 'tool', tool_call_id: id, content })
const NINE = 'abcdef012'
const look = (parameters: Json, more: Json = {}): Json => ({
  tools: [{ type: 'function', function: { name: 'look', parameters, ...more } }],
})
const LOOK = look({ type: 'object', properties: {} })
const PICTURE = { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } }

const pdf = (data: string): Json => ({ type: 'file', file: { filename: 'a.pdf', file_data: data } })

const eachPart = (body: Json, find: (part: Json, place: string) => Objection | undefined) =>
  first(objects(body.messages), ({ content }, n) =>
    first(objects(content), (part, at) => find(part, `messages[${n}].content[${at}]`)),
  )

const callsOf = (message: Json | undefined) => objects(message?.tool_calls)
const idsOf = (message: Json | undefined) => callsOf(message).map(({ id }) => String(id))

/** The answers of tools that stand right behind a message. */
function resultsBehind(messages: readonly Json[], n: number): readonly Json[] {
  const end = messages.findIndex(({ role }, at) => at > n && role !== 'tool')
  return messages.slice(n + 1, end < 0 ? undefined : end)
}

/** The message before the answers of tools among which this one stands. */
const caller = (messages: readonly Json[], n: number) =>
  messages.slice(0, n).findLast(({ role }) => role !== 'tool')

function unanswered(
  body: Json,
  say: (ids: readonly string[], n: number) => Objection,
): Objection | undefined {
  const messages = objects(body.messages)
  return first(messages, (message, n) => {
    const answered = resultsBehind(messages, n).map(({ tool_call_id: id }) => id)
    const missing = idsOf(message).filter((id) => !answered.includes(id))
    return missing.length > 0 ? say(missing, n) : undefined
  })
}

const UNANSWERED =
  "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'."

const eachCall = (body: Json, find: (call: Json, place: string) => Objection | undefined) =>
  first(objects(body.messages), (message, n) =>
    first(callsOf(message), (one, at) => find(one, `messages[${n}].tool_calls[${at}]`)),
  )

const eachTool = (body: Json, find: (tool: Json, place: string) => Objection | undefined) =>
  first(objects(body.tools), ({ function: tool }, n) =>
    isObject(tool) ? find(tool, `tools[${n}].function`) : undefined,
  )

const hasTools = ({ tools, functions }: Json) => [tools, functions].some((list) => objects(list).length > 0)

const CALL_ID_LENGTH = 40

/** The members that a vendor's own client library knows. */
const MISTRAL_MEMBERS = {
  request:
    'model temperature top_p max_tokens stream stop random_seed metadata messages response_format tools tool_choice presence_penalty frequency_penalty n prediction parallel_tool_calls reasoning_effort prompt_mode guardrails prompt_cache_key service_tier safe_prompt stream_options'.split(
      ' ',
    ),
  system: ['role', 'content'],
  user: ['role', 'content'],
  assistant: ['role', 'content', 'tool_calls', 'prefix'],
  tool: ['role', 'content', 'name', 'tool_call_id'],
} as const
const GROQ_MEMBERS: Readonly<Record<string, readonly string[]>> = {
  request:
    'model messages citation_options compound_custom disable_tool_validation documents exclude_domains frequency_penalty function_call functions include_domains include_reasoning logit_bias logprobs max_completion_tokens max_tokens metadata n parallel_tool_calls presence_penalty reasoning_effort reasoning_format response_format search_settings seed service_tier stop store stream stream_options temperature tool_choice tools top_logprobs top_p user'.split(
      ' ',
    ),
  system: ['role', 'content', 'name'],
  developer: ['role', 'content', 'name'],
  user: ['role', 'content', 'name'],
  assistant: ['role', 'content', 'name', 'tool_calls', 'function_call', 'reasoning'],
  tool: ['role', 'content', 'tool_call_id', 'name'],
}
/** Members of OpenAI's requests that Google's version of them has been seen to refuse. */
const UNKNOWN_TO_GOOGLE = ['reasoning', 'frequency_penalty', 'prompt_cache_key']

const mistralExtra = (loc: readonly (string | number)[], input: unknown): Objection => ({
  message: JSON.stringify({
    detail: [{ type: 'extra_forbidden', loc, msg: 'Extra inputs are not permitted', input }],
  }),
  status: 422,
})

const isBlank = (content: unknown) =>
  content === undefined ||
  content === null ||
  content === '' ||
  (Array.isArray(content) && content.length === 0)

/** Models of Google that want their calls back as they signed them. */
export const signsCalls = (model: unknown) => /gemini-([3-9]|\d\d)/.test(String(model))

const SIGNATURE_MISSING = (name: unknown, n: number): string =>
  `Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call \`default_api:${name}\` , position ${n}. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more details.`

/** What Google says of the signature of the first call of a step. */
export function signatureObjection(signature: unknown, name: unknown, n: number): Objection | undefined {
  if (typeof signature !== 'string' || signature === '') return { message: SIGNATURE_MISSING(name, n) }
  return signature === SKIP_SIGNATURE || isFrom('google', signature)
    ? undefined
    : { message: 'Corrupted thought signature.' }
}

const signed = (one: Json, signature: string): Json => ({
  ...one,
  extra_content: { google: { thought_signature: signature } },
})

function strictSchema(strict: boolean, schema: Json): Json {
  return { response_format: { type: 'json_schema', json_schema: { name: 'place', strict, schema } } }
}

export const CHAT_RULES: readonly Rule[] = [
  {
    id: 'mistral-unknown-member',
    source: 'https://github.com/Gitlawb/openclaude/issues/739',
    rows: ['mistral'],
    objection: (body) =>
      first(Object.keys(body), (name) =>
        (MISTRAL_MEMBERS.request as readonly string[]).includes(name)
          ? undefined
          : mistralExtra(['body', name], body[name]),
      ),
    refuses: asked({ max_completion_tokens: 100 }),
    accepts: asked({ max_tokens: 100 }),
  },
  {
    id: 'mistral-stream-options',
    source: 'https://github.com/avante-corp/avante.nvim/issues/2347',
    rows: ['mistral'],
    objection: ({ stream_options: options }) =>
      isObject(options) && options.include_usage !== undefined
        ? mistralExtra(['body', 'stream_options', 'include_usage'], options.include_usage)
        : undefined,
    refuses: asked({ stream: true, stream_options: { include_usage: true } }),
    accepts: asked({ stream: true }),
  },
  {
    id: 'mistral-unknown-member-of-message',
    source: 'https://github.com/charmbracelet/crush/issues/1590',
    rows: ['mistral'],
    objection: (body) =>
      first(objects(body.messages), (message, n) => {
        const role = String(message.role)
        const known = (MISTRAL_MEMBERS as Readonly<Record<string, readonly string[]>>)[role]
        const unknown = Object.keys(message).find((name) => known !== undefined && !known.includes(name))
        return unknown === undefined
          ? undefined
          : mistralExtra(['body', 'messages', n, role, unknown], message[unknown])
      }),
    refuses: said({ role: 'assistant', content: 'Hm', reasoning_content: 'x' }, USER),
    accepts: said({ role: 'assistant', content: 'Hm' }, USER),
  },
  {
    id: 'mistral-role',
    source: 'https://github.com/bramses/chatgpt-md/issues/189',
    rows: ['mistral'],
    objection: (body) =>
      first(objects(body.messages), ({ role }) =>
        ['system', 'user', 'assistant', 'tool'].includes(String(role))
          ? undefined
          : {
              message: `Input tag '${role}' found using 'role' does not match any of the expected tags: 'system', 'user', 'assistant', 'tool'`,
              status: 422,
            },
      ),
    refuses: said({ role: 'developer', content: 'Be brief.' }, USER),
    accepts: { model: 'm', messages: [{ role: 'system', content: 'Be brief.' }, USER] },
  },
  {
    id: 'mistral-call-id',
    source: 'https://github.com/nearai/ironclaw/issues/1241',
    rows: ['mistral'],
    objection: (body) =>
      eachCall(body, ({ id }) =>
        /^[a-zA-Z0-9]{9}$/.test(String(id))
          ? undefined
          : {
              message: `Tool call id was ${id} but must be a-z, A-Z, 0-9, with a length of 9.`,
              type: 'invalid_function_call',
              code: '3280',
            },
      ),
    refuses: said(calls(call('call_1')), result('call_1')),
    accepts: said(calls(call(NINE)), result(NINE)),
  },
  {
    id: 'mistral-order',
    source: 'https://github.com/datapizza-labs/datapizza-ai/issues/98',
    rows: ['mistral'],
    objection: (body) => {
      const messages = objects(body.messages)
      return first(messages, ({ role }, n) => {
        const before = messages[n - 1]?.role
        const isWrong =
          (before === 'tool' && (role === 'user' || role === 'system')) ||
          (role === 'tool' && before !== 'tool' && before !== 'assistant')
        if (!isWrong) return undefined
        const message = `Unexpected role '${role}' after role '${before}'`
        return { message, type: 'invalid_request_message_order', code: '3230' }
      })
    },
    refuses: said(calls(call(NINE)), result(NINE), USER),
    accepts: said(calls(call(NINE)), result(NINE), { role: 'assistant', content: 'Sun.' }, USER),
  },
  {
    id: 'mistral-pairs',
    source: 'https://github.com/mistralai/client-ts/issues/106',
    rows: ['mistral'],
    objection: (body) => {
      const messages = objects(body.messages)
      return first(messages, (message, n) => {
        const ids = idsOf(message)
        if (ids.length === 0 || ids.length === resultsBehind(messages, n).length) return undefined
        const type = 'invalid_request_message_order'
        return { message: 'Not the same number of function calls and responses', type, code: '3230' }
      })
    },
    refuses: said(calls(call(NINE), call('abcdef013')), result(NINE)),
    accepts: said(calls(call(NINE), call('abcdef013')), result(NINE), result('abcdef013')),
  },
  {
    id: 'mistral-last-role',
    source: 'https://github.com/huggingface/smolagents/issues/757',
    rows: ['mistral'],
    objection: (body) => {
      const last = objects(body.messages).at(-1)
      if (last?.role !== 'assistant' || last.prefix === true) return undefined
      return {
        message:
          'Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant',
        type: 'invalid_request_message_order',
        code: '3230',
      }
    },
    refuses: said({ role: 'assistant', content: 'The' }),
    accepts: said({ role: 'assistant', content: 'The', prefix: true }),
  },
  {
    id: 'mistral-empty-reply',
    source: 'https://github.com/mistralai/mistral-common',
    rows: ['mistral'],
    objection: (body) =>
      first(objects(body.messages), (message) =>
        message.role === 'assistant' && isBlank(message.content) && callsOf(message).length === 0
          ? {
              message: 'Assistant message must have either content or tool_calls, but not none.',
              type: 'invalid_request_message_order',
              code: '3240',
            }
          : undefined,
      ),
    refuses: said({ role: 'assistant', content: '' }, USER),
    accepts: said({ role: 'assistant', content: ' ' }, USER),
  },
  {
    id: 'groq-unknown-member',
    source: 'https://github.com/eigent-ai/eigent/issues/1827',
    rows: ['groq'],
    objection: (body) =>
      first(Object.keys(body), (name) =>
        GROQ_MEMBERS.request?.includes(name) ? undefined : { message: `property '${name}' is unsupported` },
      ),
    refuses: asked({ prompt_cache_key: 'k' }),
    accepts: asked({ user: 'k' }),
  },
  {
    id: 'groq-unknown-member-of-message',
    source: 'https://github.com/tashfeenahmed/freellmapi/issues/1070',
    rows: ['groq'],
    objection: (body) =>
      first(objects(body.messages), (message, n) => {
        const unknown = Object.keys(message).find(
          (name) => GROQ_MEMBERS[String(message.role)]?.includes(name) === false,
        )
        if (unknown === undefined) return undefined
        const place = `'messages.${n}' : `
        return {
          message: `${place}for 'role:${message.role}' the following must be satisfied[(${place}property '${unknown}' is unsupported)]`,
        }
      }),
    refuses: said({ role: 'assistant', content: 'Hm', reasoning_content: 'x' }, USER),
    accepts: said({ role: 'assistant', content: 'Hm', reasoning: 'x' }, USER),
  },
  {
    id: 'deepseek-role',
    source: 'https://github.com/theopenco/llmgateway/pull/3462',
    rows: ['deepseek'],
    objection: (body) =>
      first(objects(body.messages), ({ role }, n) =>
        ['system', 'user', 'assistant', 'tool', 'latest_reminder'].includes(String(role))
          ? undefined
          : {
              message: `Failed to deserialize the JSON body into the target type: messages[${n}].role: unknown variant \`${role}\`, expected one of \`system\`, \`user\`, \`assistant\`, \`tool\`, \`latest_reminder\``,
            },
      ),
    refuses: said({ role: 'developer', content: 'Be brief.' }),
    accepts: said({ role: 'system', content: 'Be brief.' }),
  },
  {
    id: 'deepseek-part',
    source: 'https://github.com/esengine/DeepSeek-Reasonix/issues/7859',
    rows: ['deepseek'],
    objection: (body) =>
      first(objects(body.messages), ({ content }, n) =>
        first(objects(content), ({ type }) =>
          type === 'text'
            ? undefined
            : {
                message: `Failed to deserialize the JSON body into the target type: messages[${n}]: unknown variant \`${type}\`, expected \`text\``,
              },
        ),
      ),
    refuses: { model: 'm', messages: [{ role: 'user', content: [PICTURE] }] },
    accepts: { model: 'm', messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }] },
  },
  {
    id: 'deepseek-reasoning',
    source: 'https://github.com/JohnnyZ93/oai-compatible-copilot/issues/215',
    rows: ['deepseek'],
    objection: ({ messages, model, thinking }) => {
      const thinks =
        /reasoner|v4/.test(String(model)) && !(isObject(thinking) && thinking.type === 'disabled')
      return first(objects(messages), (message) =>
        thinks && callsOf(message).length > 0 && isBlank(message.reasoning_content)
          ? { message: 'The `reasoning_content` in the thinking mode must be passed back to the API.' }
          : undefined,
      )
    },
    refuses: { ...said(calls(call('a')), result('a')), model: 'deepseek-reasoner' },
    accepts: {
      ...said({ ...calls(call('a')), reasoning_content: 'x' }, result('a')),
      model: 'deepseek-reasoner',
    },
  },
  {
    id: 'deepseek-empty-reply',
    source: 'https://github.com/OnesoftQwQ/opencode-go-copilot/issues/24',
    rows: ['deepseek'],
    objection: (body) =>
      first(objects(body.messages), (message) =>
        message.role === 'assistant' && (message.content ?? null) === null && callsOf(message).length === 0
          ? { message: 'Invalid assistant message: content or tool_calls must be set' }
          : undefined,
      ),
    refuses: said({ role: 'assistant', content: null, reasoning_content: 'x' }, USER),
    accepts: said({ role: 'assistant', content: '', reasoning_content: 'x' }, USER),
  },
  {
    id: 'deepseek-unanswered-call',
    source: 'https://github.com/TurixAI/TuriX-CUA/issues/15',
    rows: ['deepseek'],
    objection: (body) =>
      unanswered(body, () => ({
        message: `${UNANSWERED} (insufficient tool messages following tool_calls message)`,
      })),
    refuses: said(calls(call('a')), USER, result('a')),
    accepts: said(calls(call('a')), result('a'), USER),
  },
  {
    id: 'deepseek-orphan-result',
    source: 'https://github.com/itmisx/deepx-code/issues/94',
    rows: ['deepseek'],
    objection: (body) => {
      const messages = objects(body.messages)
      return first(messages, ({ role, tool_call_id: id }, n) =>
        role === 'tool' && !idsOf(caller(messages, n)).includes(String(id))
          ? {
              message:
                "Messages with role 'tool' must be a response to a preceding message with 'tool_calls'",
            }
          : undefined,
      )
    },
    refuses: said(result('a')),
    accepts: said(calls(call('a')), result('a')),
  },
  {
    id: 'google-unknown-member',
    source: 'https://github.com/MinLL/SkyrimNet-GamePlugin/issues/77',
    rows: ['gemini-chat'],
    objection: (body) =>
      first(Object.keys(body), (name) =>
        UNKNOWN_TO_GOOGLE.includes(name) || (name !== 'extra_body' && isUnknown(body, name))
          ? { message: `Invalid JSON payload received. Unknown name "${name}": Cannot find field.` }
          : undefined,
      ),
    refuses: asked({ reasoning: { effort: 'low' } }),
    accepts: asked({ reasoning_effort: 'low' }),
  },
  {
    id: 'google-no-contents',
    source: 'https://ai.google.dev/gemini-api/docs/openai',
    rows: ['gemini-chat'],
    objection: (body) =>
      objects(body.messages).every(({ role }) => role === 'system' || role === 'developer')
        ? { message: '* GenerateContentRequest.contents: contents is not specified\n' }
        : undefined,
    refuses: { model: 'm', messages: [{ role: 'system', content: 'Be brief.' }] },
    accepts: { model: 'm', messages: [{ role: 'system', content: 'Be brief.' }, USER] },
  },
  {
    id: 'google-pairs',
    source: 'https://github.com/google-gemini/gemini-cli/issues/17208',
    rows: ['gemini-chat'],
    objection: (body) => {
      const messages = objects(body.messages)
      return first(messages, (message, n) => {
        const ids = idsOf(message)
        const results = resultsBehind(messages, n)
        const isLast = n === messages.length - 1
        if (ids.length === 0 || isLast || ids.length === results.length) return undefined
        return {
          message:
            'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.',
        }
      })
    },
    refuses: said(calls(call('a'), call('b')), result('a'), USER),
    accepts: said(calls(call('a'), call('b')), result('a'), result('b'), USER),
  },
  {
    id: 'google-signature',
    source: 'https://ai.google.dev/gemini-api/docs/thought-signatures',
    rows: ['gemini-chat'],
    objection: ({ messages, model }) => {
      if (!signsCalls(model)) return undefined
      const all = objects(messages)
      const start = all.findLastIndex(({ role }) => role === 'user')
      return first(all, (message, n) => {
        const [one] = callsOf(message)
        if (one === undefined || n < start) return undefined
        const { google } = isObject(one.extra_content) ? one.extra_content : { google: undefined }
        const name = isObject(one.function) ? one.function.name : undefined
        return signatureObjection(isObject(google) ? google.thought_signature : undefined, name, n)
      })
    },
    refuses: { ...said(calls(call('a')), result('a')), model: 'gemini-3-pro-preview' },
    accepts: {
      ...said(calls(signed(call('a'), sign('google', 'look'))), result('a')),
      model: 'gemini-3-pro-preview',
    },
  },
  {
    id: 'image-of-another-role',
    source: 'https://github.com/dreadnode/rigging/issues/41',
    rows: ['openai'],
    objection: (body) =>
      first(objects(body.messages), ({ role, content }, n) =>
        role !== 'user' && objects(content).some(({ type }) => type === 'image_url')
          ? {
              message: `Invalid 'messages[${n}]'. Image URLs are only allowed for messages with role 'user', but this message with role '${role}' contains an image URL.`,
              param: `messages[${n}]`,
              code: 'invalid_value',
            }
          : undefined,
      ),
    refuses: said(calls(call('a')), result('a', [PICTURE])),
    accepts: said(calls(call('a')), result('a', [{ type: 'text', text: 'sun' }]), {
      role: 'user',
      content: [PICTURE],
    }),
  },
  {
    id: 'data-of-image',
    source: 'https://github.com/mkht/PSOpenAI/issues/43',
    rows: ['openai'],
    objection: (body) =>
      eachPart(body, ({ image_url: image }, place) =>
        isObject(image) ? noImage(`${place}.image_url.url`, image.url) : undefined,
      ),
    refuses: {
      model: 'm',
      messages: [
        { role: 'user', content: [{ ...PICTURE, image_url: { url: 'data:application/pdf;base64,AA==' } }] },
      ],
    },
    accepts: { model: 'm', messages: [{ role: 'user', content: [PICTURE] }] },
  },
  {
    id: 'data-of-file',
    source: 'https://github.com/vercel/ai/issues/7266',
    rows: ['openai'],
    objection: (body) =>
      eachPart(body, ({ file }, place) =>
        isObject(file) ? noFileData(`${place}.file.file_data`, file.file_data) : undefined,
      ),
    refuses: { model: 'm', messages: [{ role: 'user', content: [pdf('https://example.com/a.pdf')] }] },
    accepts: { model: 'm', messages: [{ role: 'user', content: [pdf('data:application/pdf;base64,AA==')] }] },
  },
  {
    id: 'null-content',
    source: 'https://github.com/run-llama/llama_index/pull/17921',
    rows: ['openai'],
    objection: (body) =>
      first(objects(body.messages), (message, n) => {
        const { audio, content, function_call: legacy, refusal, role } = message
        if ((content ?? null) !== null) return undefined
        const isReply =
          role === 'assistant' && [audio, legacy, refusal].some((value) => (value ?? null) !== null)
        if (isReply || (role === 'assistant' && Array.isArray(message.tool_calls))) return undefined
        const param = `messages.[${n}].content`
        return { message: "Invalid value for 'content': expected a string, got null.", param }
      }),
    refuses: said({ role: 'assistant', content: null }, USER),
    accepts: said({ role: 'assistant', content: null, tool_calls: [call('a')] }, result('a')),
  },
  {
    id: 'unanswered-call',
    source: 'https://github.com/BerriAI/litellm/issues/10083',
    rows: ['openai'],
    objection: (body) =>
      unanswered(body, (ids, n) => ({
        message: `${UNANSWERED} The following tool_call_ids did not have response messages: ${ids.join(', ')}`,
        param: `messages.[${n + 1}].role`,
      })),
    refuses: said(calls(call('a'), call('b')), result('a'), USER, result('b')),
    accepts: said(calls(call('a'), call('b')), result('b'), result('a'), USER),
  },
  {
    id: 'orphan-result',
    source: 'https://github.com/simonw/llm/issues/937',
    rows: ['openai'],
    objection: (body) => {
      const messages = objects(body.messages)
      return first(messages, ({ role, tool_call_id: id }, n) =>
        role === 'tool' && !idsOf(caller(messages, n)).includes(String(id))
          ? {
              message:
                "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
              param: `messages.[${n}].role`,
            }
          : undefined,
      )
    },
    refuses: said(calls(call('a')), result('a'), { role: 'assistant', content: 'Sun.' }, result('a')),
    accepts: said(calls(call('a')), result('a'), { role: 'assistant', content: 'Sun.' }, USER),
  },
  {
    id: 'call-id-length',
    source: 'https://github.com/anomalyco/opencode/issues/12653',
    rows: ['openai', 'deepseek', 'groq'],
    objection: (body) => eachCall(body, ({ id }, place) => tooLong(`${place}.id`, id, CALL_ID_LENGTH)),
    refuses: said(calls(call('i'.repeat(41))), result('i'.repeat(41))),
    accepts: said(calls(call('i'.repeat(40))), result('i'.repeat(40))),
  },
  {
    id: 'empty-list',
    source: 'https://github.com/continuedev/continue/issues/3370',
    rows: ['openai'],
    objection: (body) =>
      emptyArray('tools', body.tools) ??
      emptyArray('functions', body.functions) ??
      emptyArray('messages', body.messages) ??
      first(
        objects(body.messages),
        ({ content, tool_calls: list }, n) =>
          emptyArray(`messages[${n}].content`, content) ?? emptyArray(`messages[${n}].tool_calls`, list),
      ),
    refuses: asked({ tools: [] }),
    accepts: asked({ tools: undefined }),
  },
  {
    id: 'deepseek-empty-tools',
    source: 'https://github.com/runebookai/tome/pull/87',
    rows: ['deepseek'],
    objection: ({ tools }) =>
      Array.isArray(tools) && tools.length === 0
        ? {
            message:
              "Invalid 'tools': empty array. Expected an array with minimum length 1, but got an empty array instead.",
          }
        : undefined,
    refuses: asked({ tools: [] }),
    accepts: asked(LOOK),
  },
  {
    id: 'settings-of-tools',
    source: 'https://github.com/openai/swarm/issues/30',
    rows: ['openai'],
    objection: (body) =>
      first(['parallel_tool_calls', 'tool_choice'], (name) =>
        (body[name] ?? null) !== null && !hasTools(body)
          ? {
              message: `Invalid value for '${name}': '${name}' is only allowed when 'tools' are specified.`,
              param: name,
            }
          : undefined,
      ),
    refuses: asked({ parallel_tool_calls: false }),
    accepts: asked({ parallel_tool_calls: false, tool_choice: 'auto', ...LOOK }),
  },
  {
    id: 'tool-name',
    source: 'https://github.com/home-assistant/core/issues/121325',
    rows: ['openai'],
    objection: (body) =>
      eachTool(
        body,
        ({ name }, place) => tooLong(`${place}.name`, name, 64) ?? mismatched(`${place}.name`, name, NAME),
      ) ??
      eachCall(body, ({ function: called }, place) => {
        const name = isObject(called) ? called.name : undefined
        const param = `${place}.function.name`
        return tooLong(param, name, 64) ?? mismatched(param, name, NAME)
      }),
    refuses: asked({ tools: [{ type: 'function', function: { name: 'a.b' } }] }),
    accepts: asked({ tools: [{ type: 'function', function: { name: 'n'.repeat(64) } }] }),
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
    refuses: asked(look({ type: 'object', properties: { a: { type: 'string' } } }, { strict: true })),
    accepts: asked(
      look(
        {
          type: 'object',
          properties: { a: { type: 'string' } },
          required: ['a'],
          additionalProperties: false,
        },
        { strict: true },
      ),
    ),
  },
  {
    id: 'strict-format',
    source: 'https://platform.openai.com/docs/guides/structured-outputs',
    rows: ['openai'],
    objection: ({ response_format: format }) => {
      const { name, schema, strict } =
        isObject(format) && isObject(format.json_schema) ? format.json_schema : {}
      const place = 'response_format.json_schema.name'
      return (
        tooLong(place, name, 64) ??
        mismatched(place, name, NAME) ??
        (strict === true ? badFormat('response_format', name, schema) : undefined)
      )
    },
    refuses: asked(strictSchema(true, { type: 'object', properties: { a: { type: 'string' } } })),
    accepts: asked(strictSchema(false, { type: 'object', properties: { a: { type: 'string' } } })),
  },
  {
    id: 'name-of-bound',
    source: 'https://github.com/tailcallhq/forgecode/issues/1081',
    rows: ['openai'],
    objection: ({ max_tokens: bound, model }) =>
      (bound ?? null) !== null && /^(o\d|gpt-5)/.test(String(model))
        ? {
            message:
              "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
            param: 'max_tokens',
            code: 'unsupported_parameter',
          }
        : undefined,
    refuses: { ...asked({ max_tokens: 100 }), model: 'gpt-5.1' },
    accepts: { ...asked({ max_completion_tokens: 100 }), model: 'gpt-5.1' },
  },
  {
    id: 'label-length',
    source: 'https://github.com/theopenco/llmgateway/pull/3110',
    rows: ['openai'],
    objection: longLabel,
    refuses: asked({ user: 'u'.repeat(65) }),
    accepts: asked({ user: 'u'.repeat(64) }),
  },
  {
    id: 'metadata',
    source: 'https://github.com/spiceai/docs/issues/928',
    rows: ['openai'],
    objection: badMetadata,
    refuses: asked({ metadata: { a: 'v'.repeat(513) } }),
    accepts: asked({ metadata: { a: 'v'.repeat(512) } }),
  },
  {
    id: 'stop-sequences',
    source: SPEC,
    rows: ['openai'],
    objection: ({ stop }) =>
      Array.isArray(stop) && stop.length > 4
        ? {
            message: `Invalid 'stop': array too long. Expected an array with maximum length 4, but got an array with length ${stop.length} instead.`,
            param: 'stop',
            code: 'array_above_max_length',
          }
        : undefined,
    refuses: asked({ stop: ['a', 'b', 'c', 'd', 'e'] }),
    accepts: asked({ stop: ['a', 'b', 'c', 'd'] }),
  },
  {
    id: 'range',
    source: SPEC,
    rows: ['openai'],
    objection: (body) =>
      first(RANGES, ([name, least, most]) =>
        outside(name, body[name], { least, ...(most === undefined ? {} : { most }) }),
      ),
    refuses: asked({ temperature: 2.5 }),
    accepts: asked({ temperature: 2 }),
  },
  {
    id: 'word-json',
    source: 'https://platform.openai.com/docs/guides/structured-outputs#json-mode',
    rows: ['openai'],
    objection: ({ messages, response_format: format }) =>
      isObject(format) && format.type === 'json_object' && !/json/i.test(JSON.stringify(messages))
        ? {
            message:
              "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.",
            param: 'messages',
          }
        : undefined,
    refuses: asked({ response_format: { type: 'json_object' } }),
    accepts: {
      model: 'm',
      messages: [{ role: 'user', content: 'Say it in JSON.' }],
      response_format: { type: 'json_object' },
    },
  },
  {
    id: 'stream-options',
    source: 'https://platform.openai.com/docs/api-reference/chat/create#chat-create-stream_options',
    rows: ['openai'],
    objection: ({ stream, stream_options: options }) =>
      (options ?? null) !== null && stream !== true
        ? {
            message: "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
            param: 'stream_options',
          }
        : undefined,
    refuses: asked({ stream_options: { include_usage: true } }),
    accepts: asked({ stream: true, stream_options: { include_usage: true } }),
  },
]

const RANGES: readonly (readonly [name: string, least: number, most?: number])[] = [
  ['temperature', 0, 2],
  ['top_p', 0, 1],
  ['frequency_penalty', -2, 2],
  ['presence_penalty', -2, 2],
  ['n', 1, 128],
  ['top_logprobs', 0, 20],
  ['max_tokens', 1],
  ['max_completion_tokens', 1],
]

const isUnknown = (body: Json, name: string) => {
  const misfit = misfitOf('chat', { model: 'm', messages: [], [name]: body[name] })
  return misfit?.kind === 'unknown' && misfit.path.length === 1
}

/** What chat APIs refuse: OpenAI's, and those that follow it. */
export function refusalOfChat(row: StrictRow, { body }: StrictRequest): StrictRefusal | undefined {
  if (isObject(body)) {
    const refusal = first(CHAT_RULES, (rule) => {
      const objection = rule.rows.includes(row) ? rule.objection(body, row) : undefined
      return objection && refused(row, rule.id, objection)
    })
    if (refusal !== undefined) return refusal
  }
  const misfit = misfitOf('chat', body)
  return misfit === undefined || !counts(row, misfit) ? undefined : refused(row, 'shape', wordsOf(misfit))
}

/**
 * Whether a vendor minds. OpenAI is known to refuse unknown settings, but not unknown members of messages; the
 * others have values and parts of their own.
 */
function counts(row: StrictRow, { kind, path }: Misfit): boolean {
  if (row === 'openai') return kind !== 'unknown' || path.length === 1
  const content = path.indexOf('content')
  return (kind === 'missing' || kind === 'type') && (content < 0 || content === path.length - 1)
}

const BODIES: Readonly<Partial<Record<StrictRow, (objection: Objection) => object>>> = {
  'gemini-chat': ({ message, status = 400 }) => [
    { error: { code: status, message, status: 'INVALID_ARGUMENT' } },
  ],
  deepseek: ({ message }) => openAiBody({ message, code: 'invalid_request_error' }),
  groq: ({ message }) => ({ error: { message, type: 'invalid_request_error' } }),
  mistral: ({ message, type = 'invalid_request_error', code, status = 400 }) => ({
    object: 'error',
    message: message.startsWith('{') ? (JSON.parse(message) as unknown) : message,
    type,
    param: null,
    code: code ?? null,
    raw_status_code: status,
  }),
}

const refused = (row: StrictRow, rule: string, objection: Objection): StrictRefusal => ({
  status: objection.status ?? 400,
  body: (BODIES[row] ?? openAiBody)(objection),
  rule,
})
