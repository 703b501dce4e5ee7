import type { Call, Result, Shape, Tool } from '../shape.js'

export const WEATHER: Tool = {
  name: 'get_weather',
  description: 'The weather of a city',
  schema: '{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}',
}
export const LOOK: Tool = {
  name: 'view_image',
  description: 'Looks at the screen',
  schema: '{"type":"object","properties":{"n":{"type":"number"}}}',
}

/** A call of the weather in a city. */
export const weather = (id: string, city: string): Call => ({
  call: WEATHER.name,
  id,
  input: `{"city":"${city}"}`,
})
export const result = (of: string, says: Result['says']): Result => ({ of, says })

const tools = [WEATHER]
const asks = { user: 'How is the weather?' }

/** Who speaks when. */
export const ORDER: readonly Shape[] = [
  { name: 'a-question', turns: [{ user: 'What is the capital?' }] },
  {
    name: 'several-turns',
    turns: [
      { system: 'You are a guide' },
      { user: 'The first question' },
      { assistant: ['The first answer'] },
      { user: 'The second question' },
    ],
  },
  {
    name: 'a-call-and-its-result',
    tools,
    turns: [
      asks,
      { assistant: [weather('call_1', 'Oslo')] },
      { results: [result('call_1', 'Four degrees')] },
    ],
  },
  {
    name: 'text-and-call',
    tools,
    turns: [
      asks,
      { assistant: ['Let me look it up', weather('call_1', 'Oslo')] },
      { results: [result('call_1', 'Four degrees')] },
      { assistant: ['It is cold there'] },
      { user: 'And what should I wear?' },
    ],
  },
  {
    name: 'several-calls',
    tools,
    turns: [
      asks,
      { assistant: [weather('call_1', 'Oslo'), weather('call_2', 'Rome'), weather('call_3', 'Lima')] },
      {
        results: [
          result('call_1', 'Four degrees'),
          result('call_2', 'Twenty degrees'),
          result('call_3', 'Fifteen degrees'),
        ],
      },
    ],
  },
  {
    name: 'results-in-another-order',
    tools,
    turns: [
      asks,
      { assistant: [weather('call_1', 'Oslo'), weather('call_2', 'Rome')] },
      { results: [result('call_2', 'Twenty degrees'), result('call_1', 'Four degrees')] },
    ],
  },
  {
    name: 'a-message-before-the-result',
    from: 'livekit/agents PR #1977, Oaklight/argo-proxy PR #69',
    tools,
    turns: [
      asks,
      { assistant: [weather('call_1', 'Oslo')] },
      { user: 'Quickly, please' },
      { results: [result('call_1', 'Four degrees')] },
    ],
  },
  {
    name: 'instructions-before-the-result',
    from: 'livekit/agents PR #1977',
    tools,
    turns: [
      asks,
      { assistant: [weather('call_1', 'Oslo')] },
      { system: 'Keep it short', developer: true },
      { results: [result('call_1', 'Four degrees')] },
    ],
  },
  {
    name: 'a-message-between-two-results',
    from: 'Oaklight/argo-proxy PR #69',
    tools,
    turns: [
      asks,
      { assistant: [weather('call_1', 'Oslo'), weather('call_2', 'Rome')] },
      { results: [result('call_1', 'Four degrees')] },
      { user: 'And the other one?' },
      { results: [result('call_2', 'Twenty degrees')] },
    ],
  },
  {
    name: 'a-message-after-the-results',
    tools,
    turns: [
      asks,
      { assistant: [weather('call_1', 'Oslo')] },
      { results: [result('call_1', 'Four degrees')] },
      { user: 'Now answer me' },
    ],
  },
  {
    name: 'a-call-without-a-result',
    from: 'farion1231/cc-switch #7504, livekit/agents #5092',
    tools,
    turns: [asks, { assistant: [weather('call_1', 'Oslo')] }, { user: 'Never mind that' }],
  },
  {
    name: 'one-of-two-results',
    tools,
    turns: [
      asks,
      { assistant: [weather('call_1', 'Oslo'), weather('call_2', 'Rome')] },
      { results: [result('call_2', 'Twenty degrees')] },
      { user: 'Go on without it' },
    ],
  },
  {
    name: 'a-result-without-a-call',
    from: 'clients that cut the beginning of a long conversation',
    tools,
    turns: [
      { user: 'Where were we?' },
      { results: [result('call_gone', 'Four degrees in Oslo')] },
      { assistant: ['It is cold there'] },
      { user: 'And what should I wear?' },
    ],
  },
  {
    name: 'a-result-twice',
    tools,
    turns: [
      asks,
      { assistant: [weather('call_1', 'Oslo')] },
      { results: [result('call_1', 'Four degrees')] },
      { results: [result('call_1', 'Four degrees')] },
    ],
  },
  { name: 'two-messages-of-the-user', turns: [{ user: 'One thing' }, { user: 'Another thing' }] },
  {
    name: 'two-messages-of-the-model',
    turns: [
      { user: 'Tell me more' },
      { assistant: ['The first part'] },
      { assistant: ['The second part'] },
      { user: 'Thank you' },
    ],
  },
  {
    name: 'the-model-first',
    turns: [{ assistant: ['Welcome, how can I help?'] }, { user: 'With a question' }],
  },
  {
    name: 'instructions-in-the-middle',
    from: 'templates of chat models that take system messages only first',
    turns: [
      { system: 'You are a guide' },
      { user: 'A first question' },
      { assistant: ['A first answer'] },
      { system: 'From now on be brief' },
      { user: 'A second question' },
    ],
  },
  {
    name: 'instructions-of-a-developer',
    turns: [{ system: 'Answer in French', developer: true }, { user: 'A question' }],
  },
  {
    name: 'two-instructions-first',
    turns: [{ system: 'You are a guide' }, { system: 'Answer in French' }, { user: 'A question' }],
  },
  {
    name: 'instructions-last',
    turns: [{ user: 'A question' }, { system: 'Answer in one word' }],
  },
  {
    name: 'the-beginning-of-the-answer',
    from: 'clients that let a model continue: prefill',
    turns: [{ user: 'Name a city' }, { assistant: ['The city is'] }],
  },
]
