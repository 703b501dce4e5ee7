import { END, frame, type OddReply, said, testOddReplies, text, whole } from './mends.js'

const HELLO = { text: 'Hello', finishReason: 'stop' }
const SOURCES = ['https://a.example', 'https://b.example']
const RESULTS = [{ title: 'A', url: 'https://a.example' }]

/** One message, as a delta and in one body. */
const both = (message: object, expected: Partial<OddReply>): OddReply => ({
  stream: said(message) + END,
  body: whole(message),
  read: HELLO,
  ...expected,
})
const mapped = (message: object, expected: Partial<OddReply>): OddReply =>
  both(message, { kinds: ['content-mapped'], ...expected })
const thought = (message: object, more: Partial<OddReply> = {}): OddReply =>
  both(
    { content: 'Hello', ...message },
    { read: { ...HELLO, reasoning: 'Hm' }, kinds: ['reasoning-mapped'], ...more },
  )
const IMAGE = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }
const SIGNED = { type: 'reasoning.text', text: 'Hm', signature: 'c2ln' }

testOddReplies('a reply keeps', {
  'citations and search results': {
    stream: text('Hello', { citations: SOURCES, search_results: RESULTS }) + END,
    body: whole({ content: 'Hello' }, { citations: SOURCES, search_results: RESULTS }),
    read: HELLO,
    top: { citations: SOURCES, search_results: RESULTS },
  },
  'citations of an event without choices': {
    stream: `${text('Hello')}${frame({ choices: [], citations: SOURCES })}${END}`,
    read: HELLO,
    top: { citations: SOURCES },
  },
  'citations that come with the usage': {
    stream: `${text('Hello')}${END.replace('"choices":[],', `"choices":[],"citations":${JSON.stringify(SOURCES)},`)}`,
    read: HELLO,
    top: { citations: SOURCES },
  },
  'content of strings': mapped({ content: ['Hel', 'lo'] }, {}),
  'content of text with a value': mapped({ content: [{ type: 'text', text: { value: 'Hello' } }] }, {}),
  'content of one part': mapped({ content: { type: 'text', text: 'Hello' } }, {}),
  'content with reasoning and its summary': mapped(
    {
      content: [
        { type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hm' }] },
        { type: 'output_text', text: 'Hello' },
      ],
    },
    { read: { ...HELLO, reasoning: 'Hm' } },
  ),
  'content with signed thinking': mapped(
    {
      content: [
        { type: 'thinking', thinking: 'Hm', signature: 'c2ln' },
        { type: 'text', text: 'Hello' },
      ],
    },
    { read: { ...HELLO, reasoning: 'Hm' }, message: { reasoning_details: [SIGNED] } },
  ),
  'content with an image': mapped(
    { content: [{ type: 'text', text: 'Hello' }, IMAGE] },
    { message: { images: [IMAGE] } },
  ),
  'content with an image of its own data': mapped(
    {
      content: [
        { type: 'text', text: 'Hello' },
        { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
      ],
    },
    { message: { images: [IMAGE] } },
  ),
  'content with references': mapped(
    {
      content: [
        { type: 'text', text: 'Hello' },
        { type: 'reference', reference_ids: [0, 1] },
      ],
    },
    { message: { content_parts: [{ type: 'reference', reference_ids: [0, 1] }] } },
  ),
  'content with a refusal': mapped(
    { content: [{ type: 'refusal', refusal: 'No.' }] },
    { read: { text: '' }, message: { refusal: 'No.' } },
  ),
  'content with a tool call': mapped(
    { content: [{ type: 'tool_use', id: 'a', name: 'weather', input: { in: 'Rome' } }] },
    {
      read: {
        text: '',
        toolCalls: [{ id: 'a', name: 'weather', arguments: '{"in":"Rome"}' }],
        finishReason: 'tool_calls',
      },
    },
  ),
  'reasoning that is an object': thought({ reasoning: { content: 'Hm' } }),
  'reasoning that is a summary': thought({ reasoning: { summary: [{ type: 'summary_text', text: 'Hm' }] } }),
  'reasoning that is a list': thought({ reasoning_content: [{ type: 'text', text: 'Hm' }] }),
  'encrypted reasoning': thought(
    { reasoning: { id: 'rs_1', summary: 'Hm', encrypted_content: 'eHg=' } },
    { message: { reasoning_details: [{ type: 'reasoning.encrypted', data: 'eHg=', id: 'rs_1' }] } },
  ),
  'reasoning under the name of thinking': thought({ thinking: 'Hm' }),
  'reasoning under the name of Copilot': thought({ reasoning_text: 'Hm' }),
  'signed thinking': thought(
    { thinking: { thinking: 'Hm', signature: 'c2ln' } },
    { message: { reasoning_details: [SIGNED] } },
  ),
  'reasoning in details alone': thought(
    { reasoning_details: [{ type: 'reasoning.text', text: 'Hm' }] },
    { message: { reasoning_details: [{ type: 'reasoning.text', text: 'Hm' }] } },
  ),
  'reasoning in one detail that is in no list': thought(
    { reasoning_details: { type: 'reasoning.text', text: 'Hm' } },
    { message: { reasoning_details: [{ type: 'reasoning.text', text: 'Hm' }] } },
  ),
  'a detail of reasoning with an odd index': {
    ...both(
      {
        content: 'Hello',
        reasoning: 'Hm',
        reasoning_details: [{ type: 'reasoning.text', text: 'Hm', index: true, id: 7 }],
      },
      { message: { reasoning_details: [{ type: 'reasoning.text', text: 'Hm' }] }, kinds: ['member-dropped'] },
    ),
    read: { ...HELLO, reasoning: 'Hm' },
    dropped: ['reasoning_details.index'],
  },
  'an image that is in no list': mapped(
    { content: 'Hello', images: IMAGE },
    { message: { images: [IMAGE] } },
  ),
  'nothing of details that say nothing': {
    ...both({ content: 'Hello', reasoning_details: {} }, { kinds: ['member-dropped'] }),
    dropped: ['reasoning_details'],
  },
  'reasoning once if its details repeat it': {
    stream: `${said({ reasoning: 'Hm' })}${said({ content: 'Hello', reasoning_details: [SIGNED] })}${END}`,
    read: { ...HELLO, reasoning: 'Hm' },
    message: { reasoning_details: [SIGNED] },
  },
  'the text of a choice without a message': {
    stream: `${frame({ choices: [{ index: 0, text: 'Hello', finish_reason: null }] })}${END}`,
    body: whole({}, { choices: [{ index: 0, text: 'Hello', finish_reason: 'stop' }] }),
    read: HELLO,
    kinds: ['content-mapped'],
  },
  'what it does not pass on in the event': {
    stream: text('Hello', { timings: { n: 1 }, provider: 'x' }) + END,
    body: whole({ content: 'Hello' }, { timings: { n: 1 }, provider: 'x' }),
    read: HELLO,
    kinds: ['member-dropped'],
    dropped: ['timings', 'provider'],
  },
})
