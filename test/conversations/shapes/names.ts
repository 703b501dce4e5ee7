import type { Shape } from '../shape.js'
import { result, WEATHER, weather } from './order.js'

const tools = [WEATHER]
const asks = { user: 'How is the weather?' }
const LONG_ID = `call_${'x'.repeat(81)}`
const LONG_NAME = `look_up_the_weather_of_a_city_${'and_of_its_surroundings_'.repeat(3)}today`
const calls = (name: string, id: string, n: number) => ({ call: name, id, input: `{"n":${n}}` })

/** Ids of calls and names of tools. */
export const NAMES: readonly Shape[] = [
  {
    name: 'an-id-with-dots-and-colons',
    from: 'tailcallhq/forgecode PR #2837: Kimi makes such ids',
    tools,
    turns: [
      asks,
      { assistant: [weather('functions.get_weather:0', 'Oslo')] },
      { results: [result('functions.get_weather:0', 'Four degrees')] },
    ],
  },
  {
    name: 'one-id-in-two-turns',
    from: 'QwenLM/qwen-code #8382, can1357/oh-my-pi #2055',
    tools,
    turns: [
      asks,
      { assistant: [weather('call_0', 'Oslo')] },
      { results: [result('call_0', 'Four degrees')] },
      { assistant: [weather('call_0', 'Rome')] },
      { results: [result('call_0', 'Twenty degrees')] },
    ],
  },
  {
    name: 'one-id-for-two-calls',
    from: 'xorbitsai/inference #4237, vectorize-io/hindsight PR #4250',
    tools,
    turns: [
      asks,
      { assistant: [weather('call_0', 'Oslo'), weather('call_0', 'Rome')] },
      { results: [result('call_0', 'Four degrees'), result('call_0', 'Twenty degrees')] },
    ],
  },
  {
    name: 'an-id-of-86-characters',
    from: 'orchidfiles/ungate #26',
    tools,
    turns: [asks, { assistant: [weather(LONG_ID, 'Oslo')] }, { results: [result(LONG_ID, 'Four degrees')] }],
  },
  {
    name: 'ids-that-are-alike-for-80-characters',
    tools,
    turns: [
      asks,
      { assistant: [weather(`${LONG_ID}a`, 'Oslo'), weather(`${LONG_ID}b`, 'Rome')] },
      { results: [result(`${LONG_ID}a`, 'Four degrees'), result(`${LONG_ID}b`, 'Twenty degrees')] },
    ],
  },
  {
    name: 'a-short-id',
    tools,
    turns: [asks, { assistant: [weather('1', 'Oslo')] }, { results: [result('1', 'Four degrees')] }],
  },
  {
    name: 'an-empty-id',
    from: 'servers that make none',
    tools,
    turns: [asks, { assistant: [weather('', 'Oslo')] }, { results: [result('', 'Four degrees')] }],
  },
  {
    name: 'a-name-of-over-64-characters',
    from: 'MCP servers with long names',
    tools: [{ ...WEATHER, name: LONG_NAME }],
    turns: [
      asks,
      { assistant: [calls(LONG_NAME, 'call_1', 1)] },
      { results: [result('call_1', 'Four degrees')] },
    ],
    says: { calls: [{ id: 'call_2', name: LONG_NAME, input: '{"n":2}' }] },
  },
  {
    name: 'a-name-with-dots',
    from: 'MCP servers: server.tool',
    tools: [{ ...WEATHER, name: 'weather.get' }],
    turns: [
      asks,
      { assistant: [calls('weather.get', 'call_1', 1)] },
      { results: [result('call_1', 'Four degrees')] },
    ],
    says: { calls: [{ id: 'call_2', name: 'weather.get', input: '{"n":2}' }] },
  },
  {
    name: 'a-name-with-slashes',
    from: 'MCP servers: server/tool',
    tools: [{ ...WEATHER, name: 'weather/get' }],
    turns: [{ user: 'How is the weather there?' }],
    says: { calls: [{ id: 'call_2', name: 'weather/get', input: '{"n":2}' }] },
  },
  {
    name: 'two-names-that-are-alike-for-64-characters',
    tools: [
      { ...WEATHER, name: `${LONG_NAME}_1` },
      { ...WEATHER, name: `${LONG_NAME}_2` },
    ],
    turns: [
      asks,
      { assistant: [calls(`${LONG_NAME}_1`, 'call_1', 1), calls(`${LONG_NAME}_2`, 'call_2', 2)] },
      { results: [result('call_1', 'Four degrees'), result('call_2', 'Twenty degrees')] },
    ],
    says: { calls: [{ id: 'call_3', name: `${LONG_NAME}_2`, input: '{"n":3}' }] },
    next: {},
  },
  {
    name: 'a-name-beside-the-one-that-it-would-become',
    tools: [
      { ...WEATHER, name: 'weather.get' },
      { ...WEATHER, name: 'weather_get' },
    ],
    settings: { toolChoice: { tool: 'weather.get' } },
    turns: [
      asks,
      { assistant: [calls('weather.get', 'call_1', 1), calls('weather_get', 'call_2', 2)] },
      { results: [result('call_1', 'Four degrees'), result('call_2', 'Twenty degrees')] },
    ],
    says: { calls: [{ id: 'call_3', name: 'weather.get', input: '{"n":3}' }] },
  },
  {
    name: 'a-tool-that-is-no-longer-offered',
    turns: [
      asks,
      { assistant: [weather('call_1', 'Oslo')] },
      { results: [result('call_1', 'Four degrees')] },
      { user: 'And without the tool?' },
    ],
  },
  {
    name: 'digits-beyond-a-number-in-arguments',
    tools: [WEATHER],
    turns: [
      asks,
      { assistant: [{ call: WEATHER.name, id: 'call_1', input: '{"id":9007199254740993}' }] },
      { results: [result('call_1', 'Four degrees')] },
    ],
  },
  {
    name: 'a-call-without-arguments',
    from: 'clients that keep the empty text of a stream',
    apis: ['chat', 'responses'],
    tools: [WEATHER],
    turns: [
      asks,
      { assistant: [{ call: WEATHER.name, id: 'call_1', input: '' }] },
      { results: [result('call_1', 'Four degrees')] },
    ],
  },
]
