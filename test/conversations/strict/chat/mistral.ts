import { type Objection, type Rule, wordsIn } from '../rule.js'
import { first, isObject, objects } from '../shape.js'
import {
  asked,
  call,
  calls,
  callsOf,
  eachCall,
  idsOf,
  isBlank,
  result,
  resultsBehind,
  said,
  USER,
} from './conversation.js'

/** The members that Mistral's own client library knows, and `stream_options`, which it has been seen to read. */
const MISTRAL_MEMBERS = {
  request: wordsIn(`
    model temperature top_p max_tokens stream stop random_seed metadata messages response_format
    tools tool_choice presence_penalty frequency_penalty n prediction parallel_tool_calls
    reasoning_effort prompt_mode guardrails prompt_cache_key service_tier safe_prompt stream_options
  `),
  system: ['role', 'content'],
  user: ['role', 'content'],
  assistant: ['role', 'content', 'tool_calls', 'prefix'],
  tool: ['role', 'content', 'name', 'tool_call_id'],
} as const

const extra = (loc: readonly (string | number)[], input: unknown): Objection => ({
  message: 'Extra inputs are not permitted',
  detail: [{ type: 'extra_forbidden', loc, msg: 'Extra inputs are not permitted', input }],
  status: 422,
})

const NINE = 'abcdef012'

export const MISTRAL_RULES: readonly Rule[] = [
  {
    id: 'mistral-unknown-member',
    source: 'https://github.com/Gitlawb/openclaude/issues/739',
    rows: ['mistral'],
    objection: (body) =>
      first(Object.keys(body), (name) =>
        (MISTRAL_MEMBERS.request as readonly string[]).includes(name)
          ? undefined
          : extra(['body', name], body[name]),
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
        ? extra(['body', 'stream_options', 'include_usage'], options.include_usage)
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
          : extra(['body', 'messages', n, role, unknown], message[unknown])
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
]
