import type { Shape } from '../shape.js'
import { result, WEATHER, weather } from './order.js'

const tools = [WEATHER]
const asks = { user: 'How is the weather?' }
const bound = 20_000
const call = { id: 'call_a', name: WEATHER.name, input: '{"city":"Rome"}' }
const thought = 'A city. I should look it up.'
const thinks = { settings: { thinking: 2_000, bound } } as const

/** Reasoning: of others, and of the provider that gets it back. */
export const THOUGHTS: readonly Shape[] = [
  {
    name: 'a-thought-of-nobody',
    turns: [
      asks,
      { assistant: [{ thought: 'An unsigned thought' }, 'It is cold'] },
      { user: 'And what should I wear?' },
    ],
  },
  {
    name: 'a-thought-sealed-by-another-service',
    from: 'clients that change services within a conversation',
    turns: [
      asks,
      { assistant: [{ thought: 'A thought of others', sealed: 'gAAAAABsomebodyelse' }, 'It is cold'] },
      { user: 'And what should I wear?' },
    ],
  },
  {
    name: 'a-thought-of-others-before-a-call',
    tools,
    turns: [
      asks,
      {
        assistant: [
          { thought: 'A thought of others', sealed: 'gAAAAABsomebodyelse' },
          weather('call_1', 'Oslo'),
        ],
      },
      { results: [result('call_1', 'Four degrees')] },
    ],
  },
  {
    name: 'a-thought-that-comes-back',
    turns: [asks],
    ...thinks,
    says: { thought, sealed: true, text: 'It is sunny' },
    next: { user: 'And tomorrow?' },
  },
  {
    name: 'a-thought-that-goes-elsewhere',
    turns: [asks],
    ...thinks,
    says: { thought, sealed: true, text: 'It is sunny' },
    next: { user: 'And tomorrow?', elsewhere: true },
  },
  {
    name: 'a-thought-and-its-call-that-come-back',
    from: '0xPlaygrounds/rig #751, continuedev/continue #11994',
    tools,
    turns: [asks],
    ...thinks,
    says: { thought, sealed: true, calls: [call] },
    next: {},
  },
  {
    name: 'a-thought-and-its-call-that-go-elsewhere',
    tools,
    turns: [asks],
    ...thinks,
    says: { thought, sealed: true, calls: [call] },
    next: { elsewhere: true },
  },
  {
    name: 'a-thought-a-text-and-two-calls-that-come-back',
    from: 'langchain-ai/langchainjs PR #9082, QwenLM/qwen-code PR #8169',
    tools,
    turns: [asks],
    ...thinks,
    says: {
      thought,
      sealed: true,
      text: 'Let me look',
      calls: [call, { ...call, id: 'call_b', input: '{"city":"Lima"}' }],
    },
    next: {},
  },
  {
    name: 'a-text-and-two-calls-that-go-elsewhere',
    tools,
    turns: [asks],
    says: { text: 'Let me look', calls: [call, { ...call, id: 'call_b', input: '{"city":"Lima"}' }] },
    next: { elsewhere: true },
  },
  {
    name: 'odd-ids-that-go-elsewhere',
    from: 'tailcallhq/forgecode PR #2837',
    tools,
    turns: [asks],
    says: { calls: [{ ...call, id: 'functions.get_weather:0' }] },
    next: { elsewhere: true },
  },
  {
    name: 'thinking-off',
    from: 'vllm-project/vllm PR #53058, ollama/ollama #15287',
    turns: [{ user: 'A question' }],
    settings: { thinking: 'off' },
  },
  { name: 'little-thinking', turns: [{ user: 'A question' }], settings: { thinking: 'low' } },
  { name: 'much-thinking', turns: [{ user: 'A question' }], settings: { thinking: 'high' } },
  {
    name: 'a-budget-for-thinking',
    turns: [{ user: 'A question' }],
    settings: { thinking: 8_000, bound },
  },
  {
    name: 'a-budget-in-a-chat',
    from: "OpenRouter's clients",
    apis: ['chat'],
    turns: [{ user: 'A question' }],
    members: { chat: { reasoning: { max_tokens: 8_000 }, max_tokens: 20_000 } },
    except: [
      {
        to: ['responses', 'sdk-chat', 'sdk-responses', 'sdk-messages', 'sdk-gemini'],
        refused: 'reasoning.max_tokens',
        why: 'no provider there knows a budget of a chat',
      },
    ],
  },
  {
    name: 'thinking-with-results-of-others',
    from: 'Claude Code that changes models: the last turn of the model has no thought',
    tools,
    turns: [
      asks,
      { assistant: [weather('call_1', 'Oslo')] },
      { results: [result('call_1', 'Four degrees')] },
    ],
    ...thinks,
    except: [
      {
        to: 'messages',
        without: ['thinking'],
        why: 'Claude would refuse to think about results of calls without thoughts of its own',
      },
    ],
  },
]
