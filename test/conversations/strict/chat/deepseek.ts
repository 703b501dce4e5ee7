import type { Rule } from '../rule.js'
import { first, isObject, objects } from '../shape.js'
import {
  asked,
  call,
  caller,
  calls,
  callsOf,
  idsOf,
  isBlank,
  LOOK,
  PICTURE,
  result,
  said,
  UNANSWERED,
  USER,
  unanswered,
} from './conversation.js'

export const DEEPSEEK_RULES: readonly Rule[] = [
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
]
