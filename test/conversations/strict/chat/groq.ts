import { type Rule, wordsIn } from '../rule.js'
import { first, objects } from '../shape.js'
import { asked, said, USER } from './conversation.js'

/** The members that Groq's own client library knows. */
const GROQ_MEMBERS: Readonly<Record<string, readonly string[]>> = {
  request: wordsIn(`
    model messages citation_options compound_custom disable_tool_validation documents
    exclude_domains frequency_penalty function_call functions include_domains include_reasoning
    logit_bias logprobs max_completion_tokens max_tokens metadata n parallel_tool_calls
    presence_penalty reasoning_effort reasoning_format response_format search_settings seed
    service_tier stop store stream stream_options temperature tool_choice tools top_logprobs top_p
    user
  `),
  system: ['role', 'content', 'name'],
  developer: ['role', 'content', 'name'],
  user: ['role', 'content', 'name'],
  assistant: ['role', 'content', 'name', 'tool_calls', 'function_call', 'reasoning'],
  tool: ['role', 'content', 'tool_call_id', 'name'],
}

export const GROQ_RULES: readonly Rule[] = [
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
]
