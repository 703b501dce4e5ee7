import type { CallBody } from './call-body.js'
import { bodyFor, type SampleApi } from './sample-bodies.js'

export type SampleKind = 'curl' | 'typescript' | 'python'

/** The parts of the samples that differ between the APIs. */
interface Api {
  readonly path: string
  /** Fields that the clients' own types declare; other fields are passed separately. */
  readonly known: ReadonlySet<string>
  readonly typescript: Program
  readonly python: Program
}

interface Program {
  /** Returns the lines that make a client. */
  client(baseUrl: string): string
  readonly method: string
  /** The code after the call, which prints the text and the cost. The call is `stream` or `reply`. */
  readonly printsStream: string
  readonly printsReply: string
}

const fields = (names: string): ReadonlySet<string> => new Set(names.split(' '))

const OPENAI_TYPESCRIPT = (baseUrl: string): string =>
  `import OpenAI from 'openai'

const client = new OpenAI({ baseURL: '${baseUrl}', apiKey: process.env.COMPAT_API_KEY })`

const OPENAI_PYTHON = (baseUrl: string): string =>
  `import os

from openai import OpenAI

client = OpenAI(base_url="${baseUrl}", api_key=os.environ["COMPAT_API_KEY"])`

const APIS: Readonly<Record<SampleApi, Api>> = {
  chat: {
    path: '/chat/completions',
    known: fields('model messages stream temperature top_p max_tokens tools'),
    typescript: {
      client: OPENAI_TYPESCRIPT,
      method: 'chat.completions.create',
      printsStream: `for await (const chunk of stream) {
  process.stdout.write(chunk.choices[0]?.delta.content ?? '')
  if (chunk.usage) console.log('\\ncost', (chunk.usage as { cost?: number }).cost)
}`,
      printsReply: `console.log(reply.choices[0]?.message.content)
console.log('cost', (reply.usage as { cost?: number }).cost)`,
    },
    python: {
      client: OPENAI_PYTHON,
      method: 'chat.completions.create',
      printsStream: `for chunk in stream:
    if chunk.choices:
        print(chunk.choices[0].delta.content or "", end="", flush=True)
    if chunk.usage:
        print("\\ncost", chunk.usage.cost)`,
      printsReply: `print(reply.choices[0].message.content)
print("cost", reply.usage.cost)`,
    },
  },
  responses: {
    path: '/responses',
    known: fields('model instructions input stream temperature top_p max_output_tokens tools'),
    typescript: {
      client: OPENAI_TYPESCRIPT,
      method: 'responses.create',
      printsStream: `for await (const event of stream) {
  if (event.type === 'response.output_text.delta') process.stdout.write(event.delta)
  if (event.type === 'response.completed') {
    console.log('\\ncost', (event.response.usage as { cost?: number }).cost)
  }
}`,
      printsReply: `console.log(reply.output_text)
console.log('cost', (reply.usage as { cost?: number }).cost)`,
    },
    python: {
      client: OPENAI_PYTHON,
      method: 'responses.create',
      printsStream: `for event in stream:
    if event.type == "response.output_text.delta":
        print(event.delta, end="", flush=True)
    if event.type == "response.completed":
        print("\\ncost", event.response.usage.cost)`,
      printsReply: `print(reply.output_text)
print("cost", reply.usage.cost)`,
    },
  },
  messages: {
    path: '/messages',
    known: fields('model max_tokens system messages stream temperature top_p tools'),
    typescript: {
      client: (baseUrl) => `import Anthropic from '@anthropic-ai/sdk'

// The client adds /v1 to its base URL.
const client = new Anthropic({
  baseURL: '${withoutVersion(baseUrl)}',
  apiKey: null,
  authToken: process.env.COMPAT_API_KEY,
})`,
      method: 'messages.create',
      printsStream: `for await (const event of stream) {
  if (event.type === 'content_block_delta' && event.delta.type === 'text_delta') {
    process.stdout.write(event.delta.text)
  }
  if (event.type === 'message_delta') console.log('\\ncost', (event.usage as { cost?: number }).cost)
}`,
      printsReply: `for (const block of reply.content) if (block.type === 'text') console.log(block.text)
console.log('cost', (reply.usage as { cost?: number }).cost)`,
    },
    python: {
      client: (baseUrl) => `import os

from anthropic import Anthropic

# The client adds /v1 to its base URL.
client = Anthropic(base_url="${withoutVersion(baseUrl)}", auth_token=os.environ["COMPAT_API_KEY"])`,
      method: 'messages.create',
      printsStream: `for event in stream:
    if event.type == "content_block_delta" and event.delta.type == "text_delta":
        print(event.delta.text, end="", flush=True)
    if event.type == "message_delta":
        print("\\ncost", event.usage.cost)`,
      printsReply: `for block in reply.content:
    if block.type == "text":
        print(block.text)
print("cost", reply.usage.cost)`,
    },
  },
}

function withoutVersion(baseUrl: string): string {
  return baseUrl.replace(/\/v1$/, '')
}

/**
 * Returns the same call for a shell or a program, through one of the APIs. The key comes from the environment; the sample
 * only says which one it is.
 */
export function sampleOf(
  kind: SampleKind,
  api: SampleApi,
  baseUrl: string,
  chat: CallBody,
  tokenName: string,
): string {
  const note = `COMPAT_API_KEY is ${tokenName.replace(/\s+/g, ' ')}`
  const body = bodyFor(api, chat)
  switch (kind) {
    case 'curl':
      return `# ${note}\n${curl(baseUrl + APIS[api].path, body)}`
    case 'typescript':
      return `// ${note}\n${typescript(APIS[api], baseUrl, body)}`
    case 'python':
      return `# ${note}\n${python(APIS[api], baseUrl, body)}`
  }
}

function curl(url: string, body: CallBody): string {
  const json = JSON.stringify(body, undefined, 2).replaceAll("'", "'\\''")
  return `curl ${body.stream === true ? '-N ' : ''}\\
  ${url} \\
  -H "authorization: Bearer $COMPAT_API_KEY" \\
  -H 'content-type: application/json' \\
  -d '${json}'
`
}

function typescript({ known, typescript: program }: Api, baseUrl: string, body: CallBody): string {
  const [declared, own] = parted(body, known)
  const members = Object.entries(declared).map(
    ([name, value]) => `  ${name}: ${indented(JSON.stringify(value, undefined, 2))},`,
  )
  if (Object.keys(own).length > 0)
    members.push(`  ...(${indented(JSON.stringify(own, undefined, 2))} as object),`)
  const call = `await client.${program.method}({\n${members.join('\n')}\n})`
  const printed =
    body.stream === true
      ? `const stream = ${call}\n${program.printsStream}`
      : `const reply = ${call}\n${program.printsReply}`
  return `${program.client(baseUrl)}\n\n${printed}\n`
}

function python({ known, python: program }: Api, baseUrl: string, body: CallBody): string {
  const [declared, own] = parted(body, known)
  const members = Object.entries(declared).map(
    ([name, value]) => `    ${name}=${indented(pythonOf(value), '    ')},`,
  )
  if (Object.keys(own).length > 0) members.push(`    extra_body=${indented(pythonOf(own), '    ')},`)
  const call = `client.${program.method}(\n${members.join('\n')}\n)`
  const printed =
    body.stream === true
      ? `stream = ${call}\n${program.printsStream}`
      : `reply = ${call}\n${program.printsReply}`
  return `${program.client(baseUrl)}\n\n${printed}\n`
}

function parted(body: CallBody, known: ReadonlySet<string>): [declared: CallBody, own: CallBody] {
  const entries = Object.entries(body)
  return [
    Object.fromEntries(entries.filter(([name]) => known.has(name))),
    Object.fromEntries(entries.filter(([name]) => !known.has(name))),
  ]
}

const indented = (text: string, by = '  '): string => text.replaceAll('\n', `\n${by}`)

/** JSON's strings and numbers are also valid in Python; its three keywords are not. */
function pythonOf(value: unknown, margin = ''): string {
  const inner = `${margin}    `
  if (value === null || value === undefined) return 'None'
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  if (Array.isArray(value)) {
    if (value.length === 0) return '[]'
    return `[\n${value.map((item) => `${inner}${pythonOf(item, inner)},`).join('\n')}\n${margin}]`
  }
  if (typeof value === 'object') {
    const members = Object.entries(value)
    if (members.length === 0) return '{}'
    return `{\n${members.map(([name, item]) => `${inner}${JSON.stringify(name)}: ${pythonOf(item, inner)},`).join('\n')}\n${margin}}`
  }
  return JSON.stringify(value)
}
