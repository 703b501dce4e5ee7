import type { Shape } from '../shape.js'
import { LOOK, result } from './order.js'

const PIXEL =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const OTHER =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=='
const PDF = Buffer.from('%PDF-1.4\n1 0 obj<</Type/Catalog>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF').toString(
  'base64',
)
const look = (id: string, n: number) => ({ call: LOOK.name, id, input: `{"n":${n}}` })
const tools = [LOOK]
const asks = { user: 'What is on the screen?' }

/** Images and files, of users and in the results of tools. */
export const PARTS: readonly Shape[] = [
  { name: 'an-image', turns: [{ user: ['What is this?', { image: PIXEL }] }] },
  {
    name: 'an-image-by-its-address',
    turns: [{ user: ['What is this?', { image: 'https://example.com/picture.png' }] }],
    except: (
      [
        ['chat', 'messages.0.content.1.image_url.url'],
        ['responses', 'input.0.content.1.image_url'],
        ['messages', 'messages.0.content.1.source.url'],
      ] as const
    ).map(([api, refused]) => ({
      api,
      to: 'sdk-chat',
      refused,
      why: 'this package would open the address itself',
    })),
  },
  { name: 'an-image-with-detail', turns: [{ user: [{ image: PIXEL, detail: 'high' }, 'What is this?'] }] },
  { name: 'a-document', turns: [{ user: ['Sum it up', { pdf: PDF, name: 'report.pdf' }] }] },
  {
    name: 'an-image-in-a-result',
    from: 'sgl-project/sglang #34927, anomalyco/opencode #48740',
    tools,
    turns: [asks, { assistant: [look('call_1', 1)] }, { results: [result('call_1', [{ image: PIXEL }])] }],
  },
  {
    name: 'text-and-image-in-a-result',
    from: 'earendil-works/pi #9518, agno-agi/agno PR #4286',
    tools,
    turns: [
      asks,
      { assistant: [look('call_1', 1)] },
      { results: [result('call_1', ['A screenshot', { image: PIXEL }])] },
      { user: 'Describe it' },
    ],
  },
  {
    name: 'images-in-two-results',
    from: 'BerriAI/litellm #20403',
    tools,
    turns: [
      asks,
      { assistant: [look('call_1', 1), look('call_2', 2)] },
      {
        results: [
          result('call_1', ['The left screen', { image: PIXEL }]),
          result('call_2', ['The right screen', { image: OTHER }]),
        ],
      },
    ],
  },
  {
    name: 'a-document-in-a-result',
    tools,
    turns: [
      asks,
      { assistant: [look('call_1', 1)] },
      { results: [result('call_1', ['The file', { pdf: PDF, name: 'report.pdf' }])] },
    ],
    except: [
      { api: 'chat', refused: 'messages.2.content.1.type', why: 'no result of a chat may have a file' },
    ],
  },
  {
    name: 'several-texts-in-a-result',
    tools,
    turns: [
      asks,
      { assistant: [look('call_1', 1)] },
      { results: [result('call_1', ['The first line', 'The second line'])] },
    ],
  },
  {
    name: 'a-failed-result',
    tools,
    turns: [
      asks,
      { assistant: [look('call_1', 1)] },
      { results: [{ of: 'call_1', says: 'No screen was found', failed: true }] },
    ],
  },
  {
    name: 'an-empty-result',
    tools,
    turns: [asks, { assistant: [look('call_1', 1)] }, { results: [result('call_1', '')] }],
  },
  {
    name: 'a-result-of-no-parts',
    tools,
    turns: [asks, { assistant: [look('call_1', 1)] }, { results: [result('call_1', [])] }],
  },
]
