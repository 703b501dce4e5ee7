import type { ChatRequest } from '../../src/protocol/chat-request.js'
import { PROSE } from './text-samples.js'

/** What an agent sends in its third turn: tools with descriptions, two calls, and their results as text and as JSON. */
function agent(prose: string, question: string, about: readonly string[]): ChatRequest {
  const call = (id: string, name: string, input: object) => ({
    id,
    type: 'function',
    function: { name, arguments: JSON.stringify(input) },
  })
  const rows = about.map((name, at) => ({
    id: 1_000 + at,
    name,
    price: 12.5 * (at + 1),
    inStock: at % 2 === 0,
  }))
  return {
    model: 'm',
    tools: ['search', 'read_page'].map((name) => ({
      type: 'function',
      function: {
        name,
        description: `${prose.slice(0, 160)}`,
        parameters: {
          type: 'object',
          properties: {
            query: { type: 'string', description: about[0] },
            limit: { type: 'integer', description: about[1], minimum: 1, maximum: 50 },
          },
          required: ['query'],
        },
      },
    })),
    messages: [
      { role: 'system', content: prose },
      { role: 'user', content: question },
      {
        role: 'assistant',
        content: null,
        tool_calls: [
          call('call_1', 'search', { query: question }),
          call('call_2', 'read_page', { query: about[2] }),
        ],
      },
      { role: 'tool', tool_call_id: 'call_1', content: JSON.stringify({ total: 3, rows }) },
      {
        role: 'tool',
        tool_call_id: 'call_2',
        content: `# ${about[0]}\n\n${prose}\n\n- "${about[1]}"\n- ${about[2]}\n`,
      },
      { role: 'user', content: [{ type: 'text', text: question }] },
    ],
  }
}

/** Prompts with tools, each with what they were held at while tools and their results counted as they come. */
export const HONEST_PROMPTS: Readonly<
  Record<string, { readonly request: ChatRequest; readonly before: number }>
> = {
  English: {
    request: agent(PROSE.English!, 'Which ferry leaves before noon, and what does it cost?', [
      'The name of the harbour',
      'How many ferries to return',
      'A timetable of the summer',
    ]),
    before: 3_599,
  },
  Russian: {
    request: agent(PROSE.Russian!, 'Какой паром отходит до полудня, и сколько он стоит?', [
      'Название гавани',
      'Сколько паромов вернуть',
      'Летнее расписание',
    ]),
    before: 4_191,
  },
  Chinese: {
    request: agent(PROSE.Chinese!, '哪一班渡船在中午以前开，票价是多少？', [
      '港口的名称',
      '返回多少班渡船',
      '夏季时刻表',
    ]),
    before: 3_532,
  },
}
