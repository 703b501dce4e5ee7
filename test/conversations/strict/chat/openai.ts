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
  outside,
  tooLong,
} from '../openai-words.js'
import type { Rule } from '../rule.js'
import { first, isObject, type Json, objects } from '../shape.js'
import {
  asked,
  call,
  caller,
  calls,
  eachCall,
  eachPart,
  eachTool,
  hasTools,
  idsOf,
  LOOK,
  look,
  PICTURE,
  result,
  said,
  UNANSWERED,
  USER,
  unanswered,
} from './conversation.js'

const SPEC = 'https://github.com/openai/openai-openapi'

/** The longest id of a call. */
const CALL_ID_LENGTH = 40

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

const pdf = (data: string): Json => ({ type: 'file', file: { filename: 'a.pdf', file_data: data } })

function strictSchema(strict: boolean, schema: Json): Json {
  return { response_format: { type: 'json_schema', json_schema: { name: 'place', strict, schema } } }
}

export const OPENAI_RULES: readonly Rule[] = [
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
