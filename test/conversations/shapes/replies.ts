import {
  block,
  CHAT_USAGE,
  chatBody,
  chatDelta,
  chatUsage,
  messageStart,
  messageStop,
  response,
  responseEvents,
} from '../reply.js'
import type { Exception, Json, Shape, Target, Tool } from '../shape.js'
import { WEATHER } from './order.js'

const turns = [{ user: 'A question' }]
const asks = [{ user: 'How is the weather?' }]
const tools = [WEATHER]
const F: Tool = { name: 'f', schema: '{"type":"object","properties":{"a":{"type":"number"}}}' }
const G: Tool = { name: 'g', schema: '{"type":"object","properties":{"b":{"type":"number"}}}' }
const both = [F, G]
const call = (id: string, name: string, input: string) => ({ id, name, input })
const twoCalls = { calls: [call('call_1', 'f', '{"a":1}'), call('call_2', 'g', '{"b":2}')] }

// Pieces of replies of chat providers.
const says = (content: string) => chatDelta({ content })
const begins = (index: number, id: string, name: string, args: string) => ({
  index,
  id,
  type: 'function',
  function: { name, arguments: args },
})
const goesOn = (index: number, args: string) => ({ index, function: { arguments: args } })
const calls = (...pieces: readonly Json[]) => chatDelta({ tool_calls: pieces })
const ended = (reason = 'tool_calls') => [chatDelta({}, reason), chatUsage]

// Pieces of replies of providers of Responses.
const TEXT = 'Hello there'
const message = {
  id: 'msg_u',
  type: 'message',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text: TEXT, annotations: [] }],
}
const begun = {
  type: 'response.output_item.added',
  output_index: 0,
  item: { ...message, status: 'in_progress', content: [] },
}
const ofMessage = (type: string, fields: Json) => ({
  type: `response.${type}`,
  item_id: 'msg_u',
  output_index: 0,
  content_index: 0,
  ...fields,
})
const textDelta = ofMessage('output_text.delta', { delta: TEXT, logprobs: [] })
const made = {
  id: 'fc_u',
  type: 'function_call',
  status: 'completed',
  call_id: 'call_u',
  name: 'f',
  arguments: '{"a":1}',
}
const madeEmpty = {
  type: 'response.output_item.added',
  output_index: 0,
  item: { ...made, status: 'in_progress', arguments: '' },
}
const itemDone = (item: Json) => ({ type: 'response.output_item.done', output_index: 0, item })

const ofPackage = (to: Target): readonly Exception[] => [
  { to, skipped: true, why: 'the package of the AI SDK reads the stream, and what it leaves out is lost' },
]

/** A text that a provider of Responses sends in an odd way. */
const oddText = (name: string, events: readonly Json[], output: readonly Json[]): Shape => ({
  name,
  from: 'yaklang/yaklang PR #4742, Soju06/codex-lb PR #504, openclaw PR #134788',
  turns,
  says: { text: TEXT },
  oddly: { responses: { stream: responseEvents(events, output) } },
  except: ofPackage('sdk-responses'),
})
const oddCall = (name: string, events: readonly Json[], output: readonly Json[]): Shape => ({
  name,
  from: 'lidge-jun/opencodex PR #4652, router-for-me/CLIProxyAPI #3798',
  tools: [F],
  turns,
  says: { calls: [call('call_u', 'f', '{"a":1}')] },
  oddly: { responses: { stream: responseEvents(events, output) } },
  except: ofPackage('sdk-responses'),
})

/** A failure that a provider of Responses names by a code of its own, before any output. */
const failure = (code: string, words: string, fails: number): Shape => ({
  name: `a-failure-${code.replaceAll('_', '-')}`,
  from: 'raine/claude-code-proxy #65, openai/codex #3764',
  turns,
  fails,
  oddly: {
    responses: {
      stream: [
        { type: 'response.created', response: response([], undefined, 'in_progress') },
        {
          type: 'response.failed',
          response: { ...response([], undefined, 'failed'), usage: null, error: { code, message: words } },
        },
      ],
      body: { ...response([], undefined, 'failed'), usage: null, error: { code, message: words } },
    },
  },
})

// Pieces of replies of Claude.
const toolBlock = (id: string, name: string) => ({ type: 'tool_use', id, name, input: {} })
const json = (index: number, partial_json: string) => ({
  type: 'content_block_delta',
  index,
  delta: { type: 'input_json_delta', partial_json },
})
const opens = (index: number, content_block: Json) => ({ type: 'content_block_start', index, content_block })
const closes = (index: number) => ({ type: 'content_block_stop', index })
const usesTool = messageStop({ stop_reason: 'tool_use', stop_sequence: null })

const THOUGHT = 'A thought in an object'
const nested = { reasoningContent: { reasoningText: { text: THOUGHT, signature: 'c2lnbmVk' } } }
const stopped = (more: Json): Shape['oddly'] => ({
  chat: {
    stream: [says('A B '), chatDelta({}, 'stop', more), chatUsage],
    body: chatBody({ content: 'A B ' }, 'stop', more),
  },
})

/** What models say, and the odd ways in which their providers send it. */
export const REPLIES: readonly Shape[] = [
  { name: 'a-text', turns, says: { text: 'A plain answer' } },
  { name: 'a-thought-and-a-text', turns, says: { thought: 'I think so', text: 'Therefore I am' } },
  {
    name: 'two-calls',
    tools: both,
    turns,
    says: twoCalls,
  },
  {
    name: 'a-text-and-a-call',
    tools,
    turns: asks,
    says: { text: 'Let me look', calls: [call('call_1', WEATHER.name, '{"city":"Oslo"}')] },
  },
  { name: 'a-reply-that-is-cut-off', turns, says: { text: 'A long answ', ends: 'length' } },
  { name: 'a-refusal', turns, says: { refusal: 'I cannot help with that' } },
  { name: 'a-reply-with-letters-of-all-planes', turns, says: { text: '😀 ünd \u2028 \u0001' } },
  {
    name: 'a-call-with-digits-beyond-a-number',
    tools: [F],
    turns,
    says: { calls: [call('call_1', 'f', '{"a":9007199254740993}')] },
  },
  { name: 'a-call-of-no-arguments', tools: [F], turns, says: { calls: [call('call_1', 'f', '{}')] } },
  {
    name: 'annotations-of-addresses',
    turns,
    says: { text: 'As it says there' },
    oddly: {
      chat: {
        stream: [
          says('As it says there'),
          chatDelta({
            annotations: [
              {
                type: 'url_citation',
                url_citation: { url: 'https://example.com', title: 'T', start_index: 0, end_index: 2 },
              },
            ],
          }),
          ...ended('stop'),
        ],
      },
    },
  },
  {
    name: 'annotations-of-odd-types',
    from: '@openrouter/ai-sdk-provider throws away the whole reply',
    turns,
    says: { text: 'As it says there' },
    oddly: {
      chat: {
        stream: [
          says('As it says there'),
          chatDelta({ annotations: [{ type: 'place', place: { name: 'Oslo' } }, { type: 'url_citation' }] }),
          ...ended('stop'),
        ],
        body: chatBody({
          content: 'As it says there',
          annotations: [{ type: 'place', place: { name: 'Oslo' } }, { type: 'url_citation' }],
        }),
      },
    },
  },
  {
    name: 'a-thought-in-nested-objects',
    from: 'proxies of Bedrock: reasoning_content as an object',
    turns,
    says: { thought: THOUGHT, text: 'An answer' },
    oddly: {
      chat: {
        stream: [chatDelta({ reasoning_content: nested }), says('An answer'), ...ended('stop')],
        body: chatBody({ content: 'An answer', reasoning_content: nested }),
      },
    },
    except: ofPackage('sdk-chat'),
  },
  {
    name: 'a-stop-sequence-that-matched',
    turns,
    apis: ['messages'],
    settings: { stop: ['END'] },
    says: { text: 'A B ', ends: { at: 'END' } },
    oddly: {
      messages: {
        stream: [
          messageStart,
          ...block(0, { type: 'text', text: '' }, { type: 'text_delta', text: 'A B ' }),
          ...messageStop({ stop_reason: 'stop_sequence', stop_sequence: 'END' }),
        ],
      },
    },
  },
  {
    name: 'a-stop-sequence-of-vllm',
    except: ofPackage('sdk-chat'),
    from: 'vllm-project/vllm PR #45807, BerriAI/litellm #37118',
    turns,
    apis: ['messages'],
    settings: { stop: ['END'] },
    says: { text: 'A B ', ends: { at: 'END' } },
    oddly: stopped({ stop_reason: 'END' }),
  },
  {
    name: 'a-stop-sequence-of-sglang',
    except: ofPackage('sdk-chat'),
    from: 'praxis-proxy/ai #1246, agentgateway PR #3283',
    turns,
    apis: ['messages'],
    settings: { stop: ['END'] },
    says: { text: 'A B ', ends: { at: 'END' } },
    oddly: stopped({ matched_stop: 'END' }),
  },
  {
    name: 'two-calls-with-one-id',
    from: 'QwenLM/qwen-code #8382, can1357/oh-my-pi #2055',
    tools: both,
    turns,
    says: { calls: [call('same', 'f', '{"a":1}'), call('same', 'g', '{"b":2}')] },
    next: {},
  },
  {
    name: 'pieces-of-two-calls-in-turns',
    from: 'praxis-proxy/ai #266, cloudwego/eino-ext PR #976',
    tools: both,
    turns,
    says: twoCalls,
    oddly: {
      chat: {
        stream: [
          calls(begins(0, 'call_1', 'f', ''), begins(1, 'call_2', 'g', '')),
          calls(goesOn(0, '{"a":')),
          calls(goesOn(1, '{"b":')),
          calls(goesOn(0, '1}')),
          calls(goesOn(1, '2}')),
          ...ended(),
        ],
      },
    },
  },
  {
    name: 'text-within-a-call',
    from: 'maximhq/bifrost PR #3441',
    tools: both,
    turns,
    says: { text: 'and', ...twoCalls },
    oddly: {
      chat: {
        stream: [
          calls(begins(0, 'call_1', 'f', '{"a":')),
          says('a'),
          calls(goesOn(0, '1}')),
          says('nd'),
          calls(begins(1, 'call_2', 'g', '{"b":2}')),
          ...ended(),
        ],
      },
    },
  },
  {
    name: 'thoughts-between-texts',
    from: 'ollama/ollama #17101, musistudio/claude-code-router #1725',
    turns,
    says: { thought: 'hmm', text: '--Answer' },
    oddly: {
      chat: {
        stream: [
          says('--'),
          chatDelta({ reasoning_content: 'h' }),
          chatDelta({ reasoning_content: 'mm' }),
          says('Answer'),
          ...ended('stop'),
        ],
      },
    },
  },
  {
    name: 'usage-at-the-finish',
    from: 'Groq, Mistral, DeepSeek',
    turns,
    says: { text: 'An answer' },
    oddly: {
      chat: { stream: [says('An answer'), { ...chatDelta({}, 'stop'), usage: CHAT_USAGE }] },
    },
  },
  oddText('text-only-in-the-last-event', [], [message]),
  oddText('text-only-in-the-end-of-its-item', [itemDone(message)], [message]),
  oddText('text-only-in-its-own-end', [begun, ofMessage('output_text.done', { text: TEXT })], []),
  oddText(
    'text-only-in-the-end-of-its-part',
    [begun, ofMessage('content_part.done', { part: message.content[0] })],
    [],
  ),
  oddText('text-without-a-last-output', [begun, textDelta], []),
  oddText('text-without-an-item', [textDelta], [message]),
  oddText(
    'text-that-is-repeated-at-each-end',
    [begun, textDelta, ofMessage('output_text.done', { text: TEXT }), itemDone(message)],
    [message],
  ),
  oddText(
    'events-of-the-provider-alone',
    [
      { type: 'codex.rate_limits', limit_reached: true },
      { type: 'keepalive' },
      begun,
      { type: 'response.metadata', metadata: {} },
      textDelta,
      itemDone(message),
    ],
    [message],
  ),
  oddCall(
    'arguments-only-in-their-own-end',
    [
      madeEmpty,
      {
        type: 'response.function_call_arguments.done',
        item_id: 'fc_u',
        output_index: 0,
        arguments: made.arguments,
      },
    ],
    [],
  ),
  oddCall('arguments-only-in-the-end-of-their-item', [madeEmpty, itemDone(made)], []),
  oddCall(
    'arguments-at-the-beginning',
    [{ type: 'response.output_item.added', output_index: 0, item: made }],
    [],
  ),
  oddCall('arguments-only-in-the-last-event', [madeEmpty], [made]),
  {
    name: 'two-messages-with-phases',
    from: 'OpenAI: commentary before the answer',
    turns,
    says: { text: 'Let me see. It is so.', texts: ['Let me see.', 'It is so.'] },
    oddly: {
      responses: {
        body: response(
          ['Let me see. ', 'It is so.'].map((text, index) => ({
            ...message,
            id: `msg_${index}`,
            phase: index === 0 ? 'commentary' : 'final_answer',
            content: [{ type: 'output_text', text, annotations: [] }],
          })),
        ),
      },
    },
    next: { user: 'Are you sure?' },
  },
  {
    name: 'pieces-with-the-index-of-another-block',
    except: ofPackage('sdk-messages'),
    from: 'ollama/ollama #14816',
    tools: both,
    turns,
    says: { text: 'hm', calls: [call('t1', 'f', '{"a":1}')] },
    oddly: {
      messages: {
        stream: [
          messageStart,
          ...block(0, { type: 'text', text: '' }, { type: 'text_delta', text: 'hm' }),
          opens(1, toolBlock('t1', 'f')),
          json(0, '{"a":1}'),
          closes(1),
          ...usesTool,
        ],
      },
    },
  },
  {
    name: 'blocks-that-overlap',
    except: ofPackage('sdk-messages'),
    from: 'langchain PR #37025, maximhq/bifrost PR #3441',
    tools: both,
    turns,
    says: { calls: [call('t1', 'f', '{"a":1}'), call('t2', 'g', '{"b":2}')] },
    oddly: {
      messages: {
        stream: [
          messageStart,
          opens(0, toolBlock('t1', 'f')),
          opens(1, toolBlock('t2', 'g')),
          json(0, '{"a":1}'),
          json(1, '{"b":2}'),
          closes(0),
          closes(1),
          ...usesTool,
        ],
      },
    },
  },
  failure('rate_limit_exceeded', 'Rate limit reached. Please try again in 17s.', 429),
  failure('server_is_overloaded', 'Our servers are currently overloaded.', 503),
  failure('context_length_exceeded', 'Your input exceeds the context window of this model.', 400),
  failure('invalid_image_format', 'The image data you provided does not represent a valid image.', 400),
  failure('invalid_prompt', 'Your prompt was flagged as potentially violating our usage policy.', 400),
  failure('server_error', 'An error occurred while processing your request.', 502),
]
